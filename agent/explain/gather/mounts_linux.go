package gather

import (
	"io"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// maxMountInfo bounds the part of a mount table that is read, in bytes.
const maxMountInfo = 16 << 20

// parseMounts reads the mount points below a directory from a table as
// /proc/PID/mountinfo is:
//
//	36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue
func parseMounts(r io.Reader, dir string) (out []evidence.Mount, err error) {
	lines := newLines(r)
	for lines.Scan() && len(out) < maxMounts {
		if m, ok := parseMount(lines.Text()); ok && strings.HasPrefix(m.Path, dir+"/") {
			m.Path, m.Type, m.Source = message(m.Path), message(m.Type), message(m.Source)
			out = append(out, m)
		}
	}
	return out, lines.Err()
}

func parseMount(line string) (m evidence.Mount, ok bool) {
	left, right, ok := strings.Cut(line, " - ")
	before, after := strings.Fields(left), strings.Fields(right)
	if !ok || len(before) < 6 || len(after) < 1 {
		return m, false
	}
	m = evidence.Mount{Path: unescaped(before[4]), Type: after[0]}
	if len(after) > 1 {
		m.Source = unescaped(after[1])
	}
	return m, true
}

// unescaped undoes the kernel's escapes of spaces, tabs, line ends and backslashes: a backslash
// and three octal digits.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1]) && isOctal(s[i+2]) && isOctal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')*64 + (s[i+2]-'0')*8 + s[i+3] - '0')
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }
