package takeover

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// modules is a kernel with security modules of its own.
type modules struct {
	files   map[string]string
	refuses string // the file that may not be written
	written []string
	threads []int // those that wrote
}

func (m *modules) security(mounted bool) security {
	return security{
		mounted: mounted,
		read: func(file string) ([]byte, error) {
			text, ok := m.files[file]
			if !ok {
				return nil, unix.EINVAL
			}
			return []byte(text), nil
		},
		write: func(file string, b []byte) error {
			m.written, m.threads = append(m.written, fmt.Sprintf("%s=%s", file, b)), append(m.threads, unix.Gettid())
			if m.refuses != "" && m.refuses == string(b) {
				return unix.EACCES
			}
			return nil
		},
	}
}

// TestDomain: our socket is made in the runtime's domain if SELinux is on. If that cannot be done, the error says
// so.
func TestDomain(t *testing.T) {
	const ours, its = "system_u:system_r:spc_t:s0", "system_u:system_r:container_runtime_t:s0"
	for _, c := range []struct {
		name    string
		files   map[string]string
		mounted bool
		runtime int
		want    string
		wrong   string
	}{
		{"no security module", nil, false, 7, "", ""},
		{"AppArmor", map[string]string{ownAttr: "unconfined\n", "/proc/7/attr/current": "containerd (enforce)\n"}, false, 7, "", ""},
		{"SELinux", map[string]string{createAttr: "", ownAttr: ours + "\x00", "/proc/7/attr/current": its + "\x00"}, true, 7, its, ""},
		{"SELinux, its files out of sight", map[string]string{createAttr: "", ownAttr: ours, "/proc/7/attr/current": its}, false, 7, its, ""},
		{"the same domain", map[string]string{createAttr: "", ownAttr: ours, "/proc/7/attr/current": ours + "\x00"}, true, 7, "", ""},
		{"no runtime in sight", map[string]string{createAttr: "", ownAttr: ours}, true, 0, "", "out of sight"},
		{"the runtime is gone", map[string]string{createAttr: "", ownAttr: ours}, true, 7, "", "SELinux domain of process 7"},
		{"no way to tell", map[string]string{ownAttr: ours}, true, 7, "", "SELinux is on, and cannot be told"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &modules{files: c.files}
			got, err := m.security(c.mounted).domainFor(c.runtime)
			if got != c.want || (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || !errors.Is(err, errRights)) {
				t.Errorf("the domain is %q, %v; want %q, %q", got, err, c.want, c.wrong)
			}
		})
	}
}

// TestSocketInDomain: the thread that makes the socket is given its domain before, and reset afterwards. If the
// kernel refuses, the error says so, with the domain.
func TestSocketInDomain(t *testing.T) {
	for refuses, want := range map[string]string{"": "", "u:r:t": "does not let podstep make a socket in the runtime's domain, u:r:t"} {
		m := &modules{refuses: refuses}
		fd, err := m.security(true).socket("u:r:t")
		if want == "" {
			must(t, err)
			must(t, unix.Close(fd))
			if len(m.written) != 2 || m.written[0] != createAttr+"=u:r:t" || m.written[1] != createAttr+"=" || m.threads[0] != m.threads[1] {
				t.Errorf("written is %q by threads %v", m.written, m.threads)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, errRights) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestWriteNothing: an attribute is reset by an empty write, which must reach the kernel.
func TestWriteNothing(t *testing.T) {
	if err := writeAttr(os.DevNull, nil); err != nil {
		t.Error(err)
	}
	// Only a write finds out that the device is full.
	if err := writeAttr("/dev/full", []byte("x")); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
}
