# usage: launch.sh FOLDER NAME ENVIRONMENT...: a process of tp-run per environment,
# in which JOB is a number of this call's own.
folder=$1 name=$2
shift 2
i=0
for variables in "$@"; do
  env ${variables//JOB/$$} tp-run "$folder/two.tpa" --weights random:1 --stats=json \
    --output "$folder/$name$i.npy" > "$folder/$name$i.json" 2> "$folder/$name$i.log" &
  processes+=($!)
  i=$((i + 1))
done
for process in "${processes[@]}"; do
  wait "$process"
  codes+=" $?"
done
echo "codes$codes"
cat "$folder/$name"?.log
[ "$(ls "$folder/$name"?.npy | wc -l)" = 1 ] && echo "one result"
python3 -c "import json, sys; print('ranks', len(json.load(open(sys.argv[1]))['ranks']))" "$folder/${name}0.json"
