package kubelets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWatchdog: a watchdog counts only if systemd waits for this process.
func TestWatchdog(t *testing.T) {
	for _, x := range []struct {
		name, environ string
		want          time.Duration
	}{
		{"none", "PATH=/bin", 0},
		{"of this process", "WATCHDOG_PID=17 WATCHDOG_USEC=30000000 PATH=/bin", 30 * time.Second},
		{"of this process, by its number in a container", "WATCHDOG_USEC=1500000 WATCHDOG_PID=3", 1500 * time.Millisecond},
		{"of any process", "WATCHDOG_USEC=30000000", 30 * time.Second},
		{"of the parent", "WATCHDOG_USEC=30000000 WATCHDOG_PID=1", 0},
		{"no number", "WATCHDOG_USEC=soon", 0},
		{"none any more", "WATCHDOG_USEC=0", 0},
		{"too long a number", "WATCHDOG_USEC=9223372036854775807", 0},
	} {
		proc := t.TempDir()
		dir := filepath.Join(proc, "17")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"environ": strings.ReplaceAll(x.environ, " ", "\x00") + "\x00", "status": "Name:\tkubelet\nNSpid:\t17\t3\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := watchdog(proc, 17); got != x.want {
			t.Errorf("%s: the watchdog waits for %v, not %v", x.name, got, x.want)
		}
	}
	if got := watchdog(t.TempDir(), 17); got != 0 {
		t.Errorf("a process that does not exist has a watchdog of %v", got)
	}
}
