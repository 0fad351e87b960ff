#!/bin/sh
# A plugin for node-problem-detector: is anything critical by the rules of "podloop doctor"?
#
#   0  nothing critical        1  a critical finding        2  unknown: the node could not be judged
#
# The first 80 bytes of its output become the message of the condition, so it prints one line that begins with the finding.
#
# PODLOOP               the program (default: podloop)
# PODLOOP_DOCTOR_ARGS   more options, such as "--host-root /host -r unix:///host/run/containerd/containerd.sock"
# PODLOOP_DOCTOR_LIMIT  seconds after which it is given up; less than "timeout" of podloop-doctor.json (default: 50)

# Longer output is cut off in the middle of a character, and a line break would end a condition's message.
say() {
  printf '%s\n' "$1" | LC_ALL=C tr -c '\040-\176\n' '?' | head -n 1 | cut -c 1-80
}

# shellcheck disable=SC2086 # options are words
output=$(timeout -k 5 "${PODLOOP_DOCTOR_LIMIT:-50}" "${PODLOOP:-podloop}" doctor --timeout 5s --no-disk-write ${PODLOOP_DOCTOR_ARGS:-} 2>&1)
code=$?

case $code in
  0) say 'podloop doctor finds nothing wrong' && exit 0 ;;
  1) say "nothing critical; $(printf '%s\n' "$output" | sed -n 's/^WARNING \([A-Za-z]\)/\1/p' | head -n 1)" && exit 0 ;;
  2) say "$(printf '%s\n' "$output" | sed -n 's/^CRITICAL \([A-Za-z]\)/\1/p' | head -n 1)" && exit 1 ;;
  124 | 137) say 'podloop doctor did not end in time' && exit 2 ;;
  *) say "$(printf '%s\n' "$output" | head -n 1)" && exit 2 ;;
esac
