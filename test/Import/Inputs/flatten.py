# Copies a checkpoint directory with the keys of its text_config beside the others.
#
#   flatten.py SOURCE TARGET JSON
#
# JSON is an object that is merged into the file.

import json
import pathlib
import shutil
import sys

source, target, change = sys.argv[1:]
shutil.rmtree(target, ignore_errors=True)
shutil.copytree(source, target)
path = pathlib.Path(target) / "config.json"
config = json.loads(path.read_text())
text = config.pop("text_config")
path.write_text(json.dumps({**text, **config, **json.loads(change)}))
