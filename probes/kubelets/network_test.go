package kubelets

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// listenEnv makes this program listen on its loopback, print the address, and greet its clients.
const listenEnv = "PODSTEP_TEST_LISTEN"

func playListener() {
	// The loopback of a new network is down.
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	var ifr *unix.Ifreq
	if err == nil {
		ifr, err = unix.NewIfreq("lo")
	}
	if err == nil {
		ifr.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr)
	}
	var l net.Listener
	if err == nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		_, _ = io.WriteString(c, "hello from inside")
		_ = c.Close()
	}
}

// TestDial reaches a server in another network, and leaves ours as it was.
func TestDial(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to enter another network takes root")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), listenEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	address := strings.TrimSpace(firstLine(t, cmd))
	p, err := readProcess("/proc", cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !p.elsewhere("net") || p.elsewhere("uts") {
		t.Error("its network is ours, or its name is not")
	}
	k := &Kubelet{PID: p.pid, OwnNetwork: true, Root: filepath.Join("/proc", strconv.Itoa(p.pid), "root")}
	c, err := k.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if text, err := io.ReadAll(c); string(text) != "hello from inside" {
		t.Errorf("read %q, %v", text, err)
	}
	if whole, _ := readProcess("/proc", os.Getpid()); whole.elsewhere("net") {
		t.Error("our first thread is in another network now")
	}
	// Nobody listens at the same address in our own network.
	k.OwnNetwork = false
	if c, err := k.Dial(t.Context(), "tcp", address); err == nil {
		text, _ := io.ReadAll(c)
		_ = c.Close()
		if string(text) == "hello from inside" {
			t.Error("the threads of this process are in another network now")
		}
	}
	k.OwnNetwork, k.Root = true, "/proc/0/root"
	if _, err := k.Dial(t.Context(), "tcp", address); err == nil || !strings.Contains(err.Error(), "enter the network of kubelet") {
		t.Errorf("error %v", err)
	}
}
