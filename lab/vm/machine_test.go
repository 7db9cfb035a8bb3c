//go:build vm

package vm_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/podstep/podstep/agent/labtest"
)

// machine is a running virtual machine.
type machine struct {
	tb      testing.TB
	arch    arch
	ssh     *ssh.Client
	port    string // of this machine's loopback, at which the machine's sshd is
	console string // the file of its output
	ended   chan struct{}
}

// made returns the path of a file that scripts/vm.sh made.
func made(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("PODSTEP_VM")
	if dir == "" {
		tb.Fatal("PODSTEP_VM is not set: run these tests with make test-vm")
	}
	return filepath.Join(dir, name)
}

// boot starts a virtual machine with a second disk, and returns when the machine accepts our login. The machine ends
// with the test. What it wrote to its first disk is gone then.
func boot(tb testing.TB, secondDisk string, kernelArgs ...string) *machine {
	tb.Helper()
	m := &machine{tb: tb, arch: machineArch(tb), port: labtest.FreePort(tb), console: filepath.Join(tb.TempDir(), "console"), ended: make(chan struct{})}
	// Not every machine has KVM, and not everywhere does KVM boot this one.
	accel := os.Getenv("PODSTEP_VM_ACCEL")
	if accel == "" {
		accel = "tcg,thread=multi"
	}
	args := append([]string{"root=/dev/vda", "rw", "console=" + m.arch.console, "mitigations=off"}, kernelArgs...)
	qemu := exec.Command(m.arch.qemu[0], append(m.arch.qemu[1:],
		"-accel", accel, "-smp", "2", "-m", "4096",
		"-display", "none", "-monitor", "none", "-serial", "file:"+m.console, "-no-reboot",
		"-kernel", made(tb, "kernel"), "-initrd", made(tb, "initrd"), "-append", strings.Join(args, " "),
		"-drive", "file="+made(tb, "disk.img")+",format=raw,if=virtio,snapshot=on",
		"-drive", "file="+secondDisk+",format=raw,if=virtio,readonly=on",
		"-netdev", fmt.Sprintf("user,id=net,hostfwd=tcp:127.0.0.1:%s-:22", m.port), "-device", "virtio-net-pci,netdev=net")...)
	var errs bytes.Buffer
	qemu.Stderr = &errs
	qemu.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	begin := time.Now()
	started := make(chan error)
	go func() {
		// Pdeathsig follows the thread that starts qemu. That thread lives as long as this goroutine.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(m.ended)
		err := qemu.Start()
		started <- err
		if err == nil {
			_ = qemu.Wait()
		}
	}()
	if err := <-started; err != nil {
		tb.Fatalf("start qemu: %v", err)
	}
	tb.Cleanup(func() {
		_ = qemu.Process.Kill()
		<-m.ended
		if tb.Failed() {
			tb.Logf("qemu printed: %s\nend of the machine's console:\n%s", errs.String(), m.consoleEnd())
		}
	})
	m.enter("127.0.0.1:" + m.port)
	tb.Logf("booted in %v: %s", time.Since(begin).Round(time.Second), m.must("uname -r"))
	return m
}

// enter waits until the machine's sshd accepts our login. Nothing reports that it does.
func (m *machine) enter(address string) {
	m.tb.Helper()
	config, err := credentials(m.tb)
	if err != nil {
		m.tb.Fatal(err)
	}
	for late := time.After(labtest.Patience); ; {
		if m.ssh, err = dial(address, config); err == nil {
			m.tb.Cleanup(func() { _ = m.ssh.Close() })
			return
		}
		select {
		case <-m.ended:
			m.tb.Fatal("the machine has ended")
		case <-late:
			m.tb.Fatalf("the machine does not let us in: %v", err)
		case <-time.After(time.Second):
		}
	}
}

// dial gives up soon: a connection made before the machine's network is up may never be answered.
func dial(address string, config *ssh.ClientConfig) (*ssh.Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), conn.SetDeadline(time.Time{})
}

func credentials(tb testing.TB) (*ssh.ClientConfig, error) {
	tb.Helper()
	text, err := os.ReadFile(made(tb, "key"))
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if text, err = os.ReadFile(made(tb, "host.pub")); err != nil {
		return nil, err
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("read key of the machine: %w", err)
	}
	return &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.FixedHostKey(host), HostKeyAlgorithms: []string{host.Type()},
	}, nil
}

// run runs a script as root. It returns its whole output.
func (m *machine) run(script string) (string, error) {
	s, err := m.ssh.NewSession()
	if err != nil {
		return "", err
	}
	defer s.Close()
	// If the machine hangs, we must not wait for ever.
	late := time.AfterFunc(2*labtest.Patience, func() { _ = s.Close() })
	defer late.Stop()
	out, err := s.CombinedOutput("set -eu\n" + script)
	return strings.TrimSpace(string(out)), err
}

// must runs a script that must succeed.
func (m *machine) must(script string) string {
	m.tb.Helper()
	out, err := m.run(script)
	if err != nil {
		m.tb.Fatalf("in the machine, %s: %v\n%s", script, err, out)
	}
	return out
}

// forward makes a unix socket of the machine available here, and returns its path.
func (m *machine) forward(to string) string {
	m.tb.Helper()
	// In a test's TempDir the socket's name would be too long for the kernel.
	dir, err := os.MkdirTemp("", "vm")
	if err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			ours, err := l.Accept()
			if err != nil {
				return
			}
			go m.pass(ours.(*net.UnixConn), to)
		}
	}()
	return l.Addr().String()
}

// pass connects a connection with a socket of the machine until one of them ends.
func (m *machine) pass(ours *net.UnixConn, to string) {
	defer ours.Close()
	s, err := m.ssh.NewSession()
	if err != nil {
		return
	}
	defer s.Close()
	in, err := s.StdinPipe()
	if err != nil {
		return
	}
	s.Stdout = ours
	go func() {
		_, _ = io.Copy(in, ours)
		_ = s.Close()
	}()
	_ = s.Run("exec forward " + to)
}

func (m *machine) consoleEnd() string {
	text, _ := os.ReadFile(m.console)
	return string(text[max(0, len(text)-8000):])
}
