package cgroups

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const mountinfo = `22 28 0:20 / /proc rw,relatime - proc proc rw
30 23 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/with\040space rw,relatime - cgroup cgroup rw,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
34 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	got, err := parse(strings.NewReader(mountinfo))
	if err != nil {
		t.Fatal(err)
	}
	want := []Hierarchy{
		{Mount: "/sys/fs/cgroup/cpu,cpuacct", Options: []string{"rw", "cpu", "cpuacct"}},
		{Mount: "/sys/fs/cgroup/with space", Options: []string{"rw", "name=systemd"}},
		{Mount: "/sys/fs/cgroup/unified", Unified: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
