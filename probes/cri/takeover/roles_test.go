package takeover

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// playBlind is a holder to which the kernel reports no events: it lives in a user
// namespace whose inotify instances are used up.
func playBlind(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{"unseen"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = ownUsers()
	return cmd.Run()
}

// ownUsers starts a process in a user namespace of its own.
func ownUsers() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

func playUnseen(args []string) error {
	if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0); err != nil {
		return err
	}
	if _, err := unix.InotifyInit1(unix.IN_CLOEXEC); err == nil {
		return errors.New("there is inotify")
	}
	return playHolder(args)
}

// playJail is a process in the mount namespace of another one, with another
// directory as its root.
func playJail(args []string) error {
	runtime.LockOSThread()
	ns, err := os.Open(filepath.Join("/proc", args[0], "ns/mnt"))
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", []string{"takeover", "jailed", args[1]}, nil)
}

func playJailed(args []string) error {
	if err := unix.Chroot(args[0]); err != nil {
		return err
	}
	return playIdle(nil)
}

// playMounter is a container with a file mounted into it.
func playMounter(args []string) error {
	if err := ownMounts(); err != nil {
		return err
	}
	if err := unix.Mount(args[0], args[1], "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", []string{"takeover", "idle"}, nil)
}

func playIdle([]string) error {
	fmt.Println("ready")
	untilStdinEnds()
	return nil
}

// playWitness is a guard that writes down whether the state was there when it was told to end.
func playWitness(args []string) error {
	conn, err := companion.Link()
	if err != nil {
		return err
	}
	link := companion.NewDuplex[message](conn)
	link.Send(message{PID: os.Getpid()})
	for state := ""; ; {
		m, err := link.Receive()
		if err != nil {
			return err
		}
		if m.Order.Done {
			_, err := os.Lstat(state)
			return os.WriteFile(args[0], fmt.Append(nil, errors.Is(err, os.ErrNotExist)), 0o600)
		}
		state = m.Order.State
		link.Send(message{Has: m.Order.Number})
	}
}
