"""Runs the program in the place of this process."""

import os
import subprocess
import sys

from p20export import binary

if __name__ == "__main__":
    try:
        command = [str(binary()), *sys.argv[1:]]
        if sys.platform == "win32":  # has no exec that keeps the console and the exit status
            sys.exit(subprocess.run(command).returncode)
        os.execv(command[0], command)
    except OSError as error:
        print(f"p20export: {error}", file=sys.stderr)
        sys.exit(3)
