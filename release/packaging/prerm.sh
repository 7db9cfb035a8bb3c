#!/bin/sh
# Before podstep is removed, not before another version replaces it: its service ends in order and gives the path of the
# runtime's socket back. dpkg passes "remove", rpm the number of versions that will be left.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl stop podstep.service
	fi
	if command -v systemctl >/dev/null; then
		systemctl --quiet disable podstep.service || true
	fi
	;;
esac
