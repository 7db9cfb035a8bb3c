//go:build bench

package tui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/tui/tuitest"
)

// TestBenchOpen measures how long podstep replay takes to show a million events in a terminal, and how much memory
// that takes. It compares them with a file of a thousand events.
func TestBenchOpen(t *testing.T) {
	took, peak := open(t, 1_000_000)
	smallTook, smallPeak := open(t, 1000)
	fmt.Printf("podstep replay of 1,000,000 events: %v (aim 2s), %d MiB at most (aim 400); of 1,000: %v, %d MiB; ratio %.2f, %.2f\n",
		took.Round(time.Millisecond), peak>>10, smallTook.Round(time.Millisecond), smallPeak>>10, float64(took)/float64(smallTook), float64(peak)/float64(smallPeak))
}

// open returns the time until the last second of the trace is on the screen, and the peak memory of the program in
// KiB.
func open(t *testing.T, events int) (took time.Duration, peak int) {
	t.Helper()
	bin := os.Getenv("PODSTEP_BIN")
	if bin == "" {
		t.Skip("PODSTEP_BIN is not set: run this with make bench")
	}
	path := filepath.Join(t.TempDir(), "x.podstep")
	c := crowd(t, 1)
	if _, err := c.Write(path, events); err != nil {
		t.Fatal(err)
	}
	end := minutes(c.Length())
	term := tuitest.Start(t, 200, 50, []string{"LANG=C.UTF-8"}, "")
	began := time.Now()
	term.Type("exec " + filepath.Join(bin, "podstep") + " replay --theme dark " + path)
	term.Press("Enter")
	term.Until(end + "/" + end)
	took = time.Since(began)
	pid := strings.TrimPrefix(term.Flags("pane_pid"), "pane_pid=")
	out, err := exec.Command("awk", "/^VmHWM/ {print $2}", "/proc/"+pid+"/status").Output()
	if err != nil {
		t.Fatal(err)
	}
	if peak, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		t.Fatal(err)
	}
	return took, peak
}
