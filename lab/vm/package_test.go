//go:build vm

package vm_test

import "testing"

// installed: the package has podstep, also as a plugin of kubectl, and its unit is there and off.
func installed(t *testing.T, n *node) {
	for command, want := range map[string]string{
		"command -v podstep":                                    "/usr/bin/podstep",
		"readlink -f /usr/bin/kubectl-podstep":                  "/usr/bin/podstep",
		"systemctl is-enabled podstep || true":                  "disabled",
		"systemctl is-active podstep || true":                   "inactive",
		"readlink -f $(systemctl show -P FragmentPath podstep)": "/usr/lib/systemd/system/podstep.service",
		"dpkg --verify podstep":                                 "",
		"dpkg-query -W -f '${db:Status-Status}' podstep":        "installed",
	} {
		if got := n.must(command); got != want {
			t.Errorf("%s prints %q, want %q", command, got, want)
		}
	}
}

// purged: the package is purged while its service is attached and has recorded. Nothing of podstep is left.
func purged(t *testing.T, n *node) {
	a := n.attach(t, "--record-dir /var/lib/podstep/record")
	n.must("systemctl enable podstep")
	n.checkSeen(t, "recorded")
	n.until("recorded: something", "[ -n \"$(find /var/lib/podstep/record -type f)\" ]")
	t.Log(n.must("dpkg --purge podstep"))
	a.gone()
	n.must("rm -r /run/systemd/system/podstep.service.d") // this test's own
	if left := n.must("find / /run -xdev -path /var/lib/containerd -prune -o -iname '*podstep*' -print"); left != "" {
		t.Errorf("left behind: %s", left)
	}
	n.createPod("without")
	n.UntilReady("without")
	n.deletePod("without")
}
