"""Does the same as check-many.mjs for the check in Python."""
import contextlib
import io
import json
import runpy
import sys

script = sys.argv[1]
ends = []
for arguments in json.load(sys.stdin):
    said = io.StringIO()
    code = 0
    sys.argv = [script, *arguments]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = 1 if isinstance(end.code, str) else end.code or 0
    ends.append([code, said.getvalue()])
print(json.dumps(ends))
