package takeover

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mountPatience bounds the search for processes that have our socket mounted.
	mountPatience = time.Second
	// maxMounted is how many of them are named.
	maxMounted = 10
)

// noteMounted reports the processes that have our socket mounted, now that it leads nowhere. To a container whose
// mount is the socket's file, not its directory, the path does not come back.
func (t *Takeover) noteMounted(name string, ours fileID) {
	var who []string
	for _, m := range mountsOf(name, ours) {
		who = append(who, fmt.Sprintf("process %d (%q) at %q", m.pid, m.comm(), m.at))
	}
	if len(who) == 0 {
		return
	}
	if more := len(who) - maxMounted; more > 0 {
		who = append(who[:maxMounted], fmt.Sprintf("%d more", more))
	}
	t.note(StillMounted, fmt.Sprintf("podstep's socket, which is closed now, is mounted by %s: restart these containers, so that they get the runtime's own",
		strings.Join(who, ", ")), nil)
}

// mounted is a file that is mounted somewhere.
type mounted struct {
	pid int // the first process that sees it
	at  string
}

func (m mounted) comm() string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", m.pid))
	return strings.TrimSpace(string(b))
}

// mountsOf finds where a socket that has lost its name is mounted, in all mount namespaces that can be seen.
func mountsOf(name string, id fileID) (out []mounted) {
	late := time.Now().Add(mountPatience)
	seen := map[string]bool{"": true}
	for _, pid := range processes() {
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if seen[ns] {
			continue
		}
		seen[ns] = true
		if time.Now().After(late) {
			return out
		}
		out = append(out, mountsIn(pid, name, id)...)
	}
	return out
}

// mountsIn looks at the mounts that one process sees.
func mountsIn(pid int, name string, id fileID) (out []mounted) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		at, ok := mountPoint(lines.Text(), name)
		if !ok {
			continue
		}
		var st unix.Stat_t
		err := unix.Lstat(fmt.Sprintf("/proc/%d/root%s", pid, at), &st)
		if err == nil && newFile(&st).id == id && st.Nlink == 0 {
			out = append(out, mounted{pid: pid, at: at})
		}
	}
	return out
}

// unescape turns the escapes of /proc/PID/mountinfo into names.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountPoint returns where a line of /proc/PID/mountinfo mounts what may be a file that has, or had, this name.
func mountPoint(line, name string) (string, bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || !strings.Contains(unescape.Replace(fields[3]), "/"+name) {
		return "", false
	}
	return unescape.Replace(fields[4]), true
}
