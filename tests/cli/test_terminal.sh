#!/bin/sh
# What a terminal gets: tables that fit its window and colour; anything else gets the plain bytes.
# shellcheck source=tests/cli/support.sh
. "${REPO:?path of the repository}/tests/cli/support.sh"
ESC=$(printf '\033')
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "SKIP terminal: no python3 to open a terminal with"; exit 77; }
cat >pty_run.py <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    sys.stdin.readline()  # until the window has its size
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, int(sys.argv[1]), 0, 0))
attributes = termios.tcgetattr(fd)
attributes[1] &= ~termios.OPOST
attributes[3] &= ~termios.ECHO
termios.tcsetattr(fd, termios.TCSANOW, attributes)
os.write(fd, b"\n")
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
unset NO_COLOR COLUMNS
TERM=xterm
export TERM
shown() { # COLUMNS ARGUMENTS...
    columns=$1
    shift
    "$python" pty_run.py "$columns" "$RATECAST" "$@" >shown.txt 2>err
}
widest() { grep '^|' "$1" | "$python" -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin))'; }
colours() { grep -c "$ESC" "$1"; }
has_all() { # FILE TEXT...
    file=$1
    shift
    for text; do grep -qF -e "$text" "$file" || return 1; done
}

s=$REPO/scenarios/cache_ab.json
run project "$s"
cp out plain
is "a pipe: no colour" test "$(colours plain)" -eq 0
shown 80 project "$s"
is "80 columns: in colour" test "$(colours shown.txt)" -gt 0
NO_COLOR=1 shown 80 project "$s" && cp shown.txt narrow
is "NO_COLOR: none" test "$(colours narrow)" -eq 0
is "80 columns: tables fit" test "$(widest narrow)" -le 80
is "80 columns: all numbers are there" has_all narrow 11.66 46.63 139.9 186.5 93258.0 69,632 11529.0
NO_COLOR='' shown 80 project "$s"
is "an empty NO_COLOR does not count" test "$(colours shown.txt)" -gt 0
TERM=dumb
shown 80 project "$s"
is "a dumb terminal: no colour" test "$(colours shown.txt)" -eq 0
TERM=xterm
NO_COLOR=1 shown 300 project "$s"
is "a wide window: the plain bytes" cmp shown.txt plain
run project "$s" --md
cp out plain
shown 80 project "$s" --md
is "--md on a terminal: the same bytes as in a pipe" cmp shown.txt plain
run project "$s" --json
cp out plain
shown 80 project "$s" --json
is "--json on a terminal: the same bytes as in a pipe" cmp shown.txt plain
shown 80 project "$s" -o file
is "-o: nothing on the terminal" test ! -s shown.txt
run project "$s"
is "-o: the plain bytes" cmp file out
shown 40 audit "$REPO/scenarios/claims/head_to_head_4k.json"
code=$?
is "the exit code stays" test "$code" -eq 1
is "a verdict has colour" grep -qF "${ESC}[1;31mDEFECT" shown.txt
# COLUMNS says the width where the window does not
COLUMNS=70 NO_COLOR=1 shown 0 project "$s"
is "COLUMNS" test "$(widest shown.txt)" -le 70
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
