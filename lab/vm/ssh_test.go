//go:build vm

package vm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// bySSH: a person on another machine sees, holds and lets go a pod of this one by ssh alone.
func bySSH(t *testing.T, n *node) {
	a := n.attach(t)
	path := n.userPath(t)
	podstep := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(n.Context(), labtest.Bin(t, "podstep"), append(args, "--ssh", nodeName)...)
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("podstep %s by ssh: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	podstep("break", "add", "default/far", "--step", "cri.RunPodSandbox", "--times", "1", "--lease", "10m")
	n.createPod("far")
	podstep("trace", "default/far", "--until", "held", "--for", "10m")
	if here, there := n.must("podstep break ls -o json"), podstep("break", "ls", "-o", "json"); strings.TrimSpace(there) != here {
		t.Errorf("podstep break ls prints there %s\nand by ssh %s", here, there)
	}
	podstep("continue", "far")
	n.UntilReady("far")
	n.deletePod("far")
	a.leave()
}

// userPath returns a PATH in which ssh knows the machine by the node's name.
func (n *node) userPath(t *testing.T) string {
	t.Helper()
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile(made(t, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"known":  fmt.Sprintf("[127.0.0.1]:%s %s", n.port, host),
		"config": fmt.Sprintf("Host %s\nHostName 127.0.0.1\nPort %s\nUser root\nIdentityFile %s\nUserKnownHostsFile %s/known\n", nodeName, n.port, made(t, "key"), dir),
		"ssh":    fmt.Sprintf("#!/bin/sh\nexec %s -F %s/config \"$@\"\n", ssh, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir + ":" + os.Getenv("PATH")
}
