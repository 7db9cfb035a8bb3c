#!/bin/sh
# Installs the programs of the machine that podstep-lab --runtime containerd uses, and what tests run: tmux for the
# screen, OpenSSH for a way to a node.
# For Debian and its derivatives; on other systems install the same programs by hand.
set -eu

if ! command -v apt-get >/dev/null; then
	echo "node-deps: no apt-get here: install containerd, runc, the CNI plugins, a static busybox and iproute2 by hand" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "node-deps: installing packages needs root: run it with sudo" >&2
	exit 1
fi

# A package's service must not start on this machine: the lab runs a containerd of its own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
	containerd runc containernetworking-plugins busybox-static iproute2 tmux openssh-client openssh-server
