#!/bin/sh
# The folder of the CUDA toolkit, as its compiler tells it: what is on PATH may be a script that calls the compiler
# elsewhere, so the name's own place says nothing. usage: root.sh NVCC
set -eu
"$1" --dryrun -x cu -c /dev/null -o /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -n 1
