package simnode

import (
	"os"
	"path/filepath"
	"testing"

	cadvisorv2 "github.com/google/cadvisor/info/v2"
	"k8s.io/mount-utils"

	"github.com/podstep/podstep/lab/pressure"
)

func TestMachineUnderPressure(t *testing.T) {
	m := &machine{root: "/somewhere", pressure: filepath.Join(t.TempDir(), "pressure")}
	available := func() (memory, disk uint64) {
		t.Helper()
		all, err := m.ContainerInfoV2("/", cadvisorv2.RequestOptions{})
		if err != nil || len(all["/"].Stats) != 1 {
			t.Fatalf("cgroup / is %+v, %v", all, err)
		}
		fs, err := m.RootFsInfo()
		if err != nil {
			t.Fatal(err)
		}
		return all["/"].Spec.Memory.Limit - all["/"].Stats[0].Memory.WorkingSet, fs.Available
	}
	if memory, disk := available(); memory != pressure.Idle.Memory || disk != pressure.Idle.Disk {
		t.Errorf("an idle machine has %d and %d left", memory, disk)
	}
	if err := pressure.Write(m.pressure, "memory.available=50Mi\nnodefs.available=1Gi"); err != nil {
		t.Fatal(err)
	}
	if memory, disk := available(); memory != 50<<20 || disk != 1<<30 {
		t.Errorf("a machine under pressure has %d and %d left", memory, disk)
	}
	if err := os.WriteFile(m.pressure, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if memory, _ := available(); memory != pressure.Idle.Memory {
		t.Errorf("with a file that cannot be read the machine has %d left", memory)
	}
}

func TestMachineInfo(t *testing.T) {
	one, err := (&machine{root: "/one"}).MachineInfo()
	if err != nil {
		t.Fatal(err)
	}
	again, _ := (&machine{root: "/one"}).MachineInfo()
	other, _ := (&machine{root: "/other"}).MachineInfo()
	if one.BootID != again.BootID || one.BootID == other.BootID || len(one.BootID) != 32 {
		t.Errorf("boot ids are %q, %q and %q", one.BootID, again.BootID, other.BootID)
	}
	if len(one.Topology) != 1 || len(one.Topology[0].Cores) != one.NumCores {
		t.Errorf("%d cores are %+v", one.NumCores, one.Topology)
	}
}

// TestMounter: nothing is mounted, and a tmpfs is not even remembered as mounted.
func TestMounter(t *testing.T) {
	m := &mounter{mount.NewFakeMounter(nil)}
	dir := t.TempDir()
	if err := m.MountSensitiveWithoutSystemd("tmpfs", dir, "tmpfs", nil, nil); err != nil {
		t.Fatal(err)
	}
	if is, err := m.IsMountPoint(dir); is || err != nil {
		t.Errorf("a tmpfs is a mount point: %v, %v", is, err)
	}
	if err := m.Mount("/dev/x", dir, "ext4", nil); err != nil {
		t.Fatal(err)
	}
	if is, err := m.IsMountPoint(dir); !is || err != nil {
		t.Errorf("a disk is no mount point: %v, %v", is, err)
	}
	if err := m.Unmount(dir); err != nil {
		t.Fatal(err)
	}
}

// TestSystem: links to logs go below the lab's directory. Everything else stays where it is.
func TestSystem(t *testing.T) {
	s := system{logs: t.TempDir()}
	if err := s.Symlink("target", legacyLogs+"/web.log"); err != nil {
		t.Fatal(err)
	}
	if link, err := os.Readlink(filepath.Join(s.logs, "web.log")); err != nil || link != "target" {
		t.Errorf("the link is %q, %v", link, err)
	}
	found, err := s.Glob(legacyLogs + "/*.log")
	if err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
	if err := s.Remove(legacyLogs + "/web.log"); err != nil {
		t.Error(err)
	}
	if got := s.moved("/var/log/containers-of-others"); got != "/var/log/containers-of-others" {
		t.Errorf("moved to %s", got)
	}
}
