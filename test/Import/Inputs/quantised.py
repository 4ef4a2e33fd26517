"""quantised.py DIR JSON: llama-gqa's config.json in DIR with this quantization_config, alone.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
fixture = pathlib.Path(__file__).parents[2] / "fixtures" / "llama-gqa"
config = json.loads((fixture / "config.json").read_text())
config["quantization_config"] = json.loads(sys.argv[2])
(folder / "config.json").write_text(json.dumps(config, indent=1))
