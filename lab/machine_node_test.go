//go:build node

package lab

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab/cgroups"
)

// A machine has what a lab must leave as it was.
type machine struct {
	mounts   []string
	links    []string
	settings map[string]string
	entries  []string // of directories that nodes like to write to
}

func lookAtMachine(t *testing.T) machine {
	t.Helper()
	m := machine{settings: map[string]string{}}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	m.mounts = strings.Split(string(mounts), "\n")
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if !ofBridge(l.Name) {
			m.links = append(m.links, l.Name)
		}
	}
	for _, s := range append(slices.Clone(settings), "/proc/sys/net/ipv4/ip_forward") {
		value, _ := os.ReadFile(s)
		m.settings[s] = string(value)
	}
	for _, dir := range []string{"/run", "/run/netns", "/run/containerd", "/run/containerd/s", "/var/run", "/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/log", "/var/log/containers", "/var/log/pods", "/opt", "/etc", "/usr/libexec", "/tmp"} {
		entries, _ := filepath.Glob(dir + "/*")
		m.entries = append(m.entries, slices.DeleteFunc(entries, func(e string) bool { return dir == "/tmp" && !strings.Contains(e, "containerd") })...)
	}
	return m
}

// ofBridge reports whether a network interface is a lab's bridge or a pod's end on a bridge. Other labs may come and
// go. Our own bridge is looked for by name.
func ofBridge(link string) bool {
	_, err := os.Stat("/sys/class/net/" + link + "/master/bridge")
	return err == nil || strings.HasPrefix(link, "pstep")
}

// same fails the test if the machine is not as it was before.
func (m machine) same(t *testing.T) {
	t.Helper()
	now := lookAtMachine(t)
	if !slices.Equal(m.mounts, now.mounts) {
		t.Errorf("mounts were\n%s\nand are\n%s", strings.Join(m.mounts, "\n"), strings.Join(now.mounts, "\n"))
	}
	// For a moment a pod's end is on no bridge, until it joins that of its lab.
	labtest.Eventually(t, fmt.Sprintf("the network interfaces of before: %v", m.links), func() bool {
		return slices.Equal(m.links, lookAtMachine(t).links)
	})
	if !maps.Equal(m.settings, now.settings) {
		t.Errorf("kernel settings were %v and are %v", m.settings, now.settings)
	}
	for _, e := range now.entries {
		if !slices.Contains(m.entries, e) {
			t.Errorf("%s is new", e)
		}
	}
}

// nothingLeft fails the test if a process, cgroup or bridge of the lab is left.
func nothingLeft(t *testing.T, n names, dir string) {
	t.Helper()
	if _, err := net.InterfaceByName(n.bridge); err == nil {
		t.Errorf("bridge %s is left", n.bridge)
	}
	if cgroups.Exists(n.cgroup) {
		t.Errorf("cgroup %s is left", n.cgroup)
	}
	for pid, of := range processesOf(t, n, dir) {
		t.Errorf("process %s is left: %s", pid, of)
	}
}

// processesOf returns the processes that have something that ties them to a lab.
func processesOf(t *testing.T, n names, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		cgroup, _ := os.ReadFile(p + "/cgroup")
		cmdline, _ := os.ReadFile(p + "/cmdline")
		mounts, _ := os.ReadFile(p + "/mountinfo")
		for _, text := range []string{string(cgroup), string(cmdline), string(mounts)} {
			if strings.Contains(text, n.cgroup) || strings.Contains(text, dir) {
				found[filepath.Base(p)] = strings.ReplaceAll(string(cmdline), "\x00", " ")
			}
		}
	}
	delete(found, filepath.Base(must(os.Readlink("/proc/self"))))
	return found
}

func must(s string, err error) string {
	if err != nil {
		panic(err)
	}
	return s
}

// onlyLogs fails the test if more than logs is left in the lab's directory.
func onlyLogs(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "logs" && e.Name() != "lab.lock" {
			t.Errorf("%s is left", filepath.Join(dir, e.Name()))
		}
	}
}
