//go:build node

package tui_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labtest"
)

// sshd is a server of OpenSSH on loopback, at the lab's node, and the configuration of a user's ssh that reaches it.
type sshd struct {
	t    *testing.T
	lab  *labtest.Lab
	cmd  *exec.Cmd
	path string // PATH=..., in which the user's ssh reads the configuration
}

// sshdFiles are the configuration of the server, by port, and of the client, by host.
var sshdFiles = template.Must(template.New("").Parse(`
{{define "sshd_config"}}
ListenAddress 127.0.0.1:{{.Node}}
ListenAddress 127.0.0.1:{{.Bare}}
ListenAddress 127.0.0.1:{{.Other}}
HostKey {{.Dir}}/host
AuthorizedKeysFile {{.Dir}}/user.pub
StrictModes no
UsePAM no
PidFile none
Banner {{.Dir}}/banner
Match LocalPort {{.Node}}
	SetEnv "PATH={{.Programs}}:/usr/bin:/bin" "PODSTEP_SOCKET={{.Socket}}"
Match LocalPort {{.Bare}}
	SetEnv "PATH=/usr/bin:/bin"
Match LocalPort {{.Other}}
	SetEnv "PATH={{.Dir}}/other:/usr/bin:/bin"
{{end}}
{{define "ssh_config"}}
Host strange
	Port {{.Node}}
	BatchMode yes
	UserKnownHostsFile /dev/null
Host keyless
	Port {{.Node}}
	BatchMode yes
	PubkeyAuthentication no
Host closed
	Port {{.Closed}}
Host bare
	Port {{.Bare}}
	StrictHostKeyChecking no
Host other
	Port {{.Other}}
	StrictHostKeyChecking no
Host *
	HostName 127.0.0.1
	Port {{.Node}}
	User root
	IdentityFile {{.Dir}}/user
	IdentitiesOnly yes
	UserKnownHostsFile {{.Dir}}/known
	LogLevel INFO
{{end}}
{{define "banner"}}For authorized people only.
{{end}}
{{define "bin/ssh"}}#!/bin/sh
exec {{.SSH}} -F {{.Dir}}/ssh_config "$@"
{{end}}
{{define "other/podstep"}}#!/bin/sh
echo 'podstep 3.1, counts the steps of horses'
{{end}}`))

// startSSHD starts the server. It ends with the test.
func startSSHD(t *testing.T, l *labtest.Lab) *sshd {
	t.Helper()
	dir := t.TempDir()
	ports := labtest.FreePorts(t, 4)
	values := map[string]any{"Dir": dir, "Socket": l.State.Agent, "Programs": filepath.Dir(labtest.Bin(t, "podstep")),
		"Node": ports[0], "Bare": ports[1], "Other": ports[2], "Closed": ports[3]}
	// sshd has to be started by its whole path.
	programs := map[string]string{"SSH": "ssh", "keygen": "ssh-keygen", "sshd": "/usr/sbin/sshd"}
	for key, name := range programs {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v; make node-deps installs it", err)
		}
		programs[key], values[key] = program, program
	}
	for _, name := range []string{"sshd_config", "ssh_config", "banner", "bin/ssh", "other/podstep"} {
		var text bytes.Buffer
		if err := sshdFiles.ExecuteTemplate(&text, name, values); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text.Bytes(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command(programs["keygen"], "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where sshd has its processes of few rights
		t.Fatal(err)
	}
	d := &sshd{t: t, lab: l, path: "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
	d.cmd = exec.Command(programs["sshd"], "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	var log bytes.Buffer
	d.cmd.Stderr = &log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range d.sessions() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		if t.Failed() {
			t.Logf("sshd printed:\n%s", log.String())
		}
	})
	labtest.Eventually(t, "sshd listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+ports[0])
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	d.untilSessions(0)
	return d
}

// podstep runs a command as the user does. Its environment names no socket.
func (d *sshd) podstep(args ...string) (stdout, stderr string, code int) {
	d.t.Helper()
	cmd := exec.CommandContext(d.lab.Context(), labtest.Bin(d.t, "podstep"), args...)
	cmd.Env = append(os.Environ(), d.path)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// sessions returns the server's processes, one for each connection.
func (d *sshd) sessions() (pids []int) {
	d.t.Helper()
	pid := strconv.Itoa(d.cmd.Process.Pid)
	text, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			d.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// session returns the process of the only connection.
func (d *sshd) session() int {
	d.t.Helper()
	d.untilSessions(1)
	return d.sessions()[0]
}

func (d *sshd) untilSessions(n int) {
	d.t.Helper()
	labtest.Eventually(d.t, fmt.Sprintf("sshd has %d sessions", n), func() bool { return len(d.sessions()) == n })
}

func (d *sshd) signal(pid int, s syscall.Signal) {
	d.t.Helper()
	if !slices.Contains(d.sessions(), pid) {
		d.t.Fatalf("process %d is no session of sshd", pid)
	}
	if err := unix.Kill(pid, s); err != nil {
		d.t.Fatal(err)
	}
}
