"""Print the memory one case needs; a process of its own, so that nothing else raised the peak before."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sections.transport import measure_memory

print(json.dumps(measure_memory(sys.argv[1])))
