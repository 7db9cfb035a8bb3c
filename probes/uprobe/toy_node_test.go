//go:build node && linux

package uprobe

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
)

// received has the calls that come from the kernel, as lines.
type received struct {
	lines chan string
}

func (h *received) Enter(c *Call) {
	text := fmt.Sprintf("enter %s %v", c.Step.Name, c.Values)
	if c.Parent != nil {
		text += " in " + c.Parent.Step.Name
	}
	if c.Line != 0 {
		text += fmt.Sprintf(":%d", c.Line)
	}
	if c.Worker {
		text += " by worker"
	}
	h.lines <- text
}

func (h *received) Exit(c *Call, at time.Time, err error, values []any) {
	if age := time.Since(c.At); age < 0 || age > time.Hour || at.Before(c.At) {
		err = fmt.Errorf("it began at %v and ended at %v", c.At, at)
	}
	h.lines <- fmt.Sprintf("exit %s %v %v", c.Step.Name, values, err)
}

func (h *received) Lost(n int) { h.lines <- fmt.Sprintf("lost %d", n) }

func (h *received) Refused(s *probes.Step, why string) { h.lines <- "refused " + s.Name + ": " + why }

// running is the toy as a process.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Reader
	seen *received
}

func runToy(t *testing.T, path string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(path), seen: &received{make(chan string, 1000)}}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("the toy ended with %v", err)
		}
	})
	r.do("nothing") // it is there
	return r
}

// do makes the toy do what a word names, and waits until it is done.
func (r *running) do(what string) {
	r.t.Helper()
	fmt.Fprintln(r.in, what)
	if text, err := r.out.ReadString('\n'); err != nil || strings.TrimSpace(text) != what {
		r.t.Fatalf("to %q the toy answers %q (%v)", what, text, err)
	}
}

// want checks the lines that come of one word.
func (r *running) want(what string, lines ...string) {
	r.t.Helper()
	r.do(what)
	for _, want := range lines {
		select {
		case got := <-r.seen.lines:
			if got != want {
				r.t.Errorf("%s: it sees\n%s\nwant\n%s", what, got, want)
			}
		case <-time.After(10 * time.Second):
			r.t.Fatalf("%s: it does not see %q", what, want)
		}
	}
}

func pod(n int) string { return "{" + fields3(n) + " }" }

func fields3(n int) string { return uidOf(n) + " default web-" + fmt.Sprint(n) }

// lineWith returns ":" and the number of the toy's line that ends with a comment.
func lineWith(t *testing.T, comment string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/toy/pkg/kubelet/kubelet.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasSuffix(line, "// "+comment) {
			return fmt.Sprintf(":%d", i+1)
		}
	}
	t.Fatalf("no line of the toy ends with %q", comment)
	return ""
}

func uidOf(n int) string { return fmt.Sprintf("0000000%d-1111-4222-8333-444444444444", n) }

// TestToy: calls of a running program are seen, with their values, errors and goroutines, and with the lines that
// make them.
func TestToy(t *testing.T) {
	for _, x := range []struct {
		name  string
		build func() (string, error)
		forms []bool
	}{{"fixed", buildToy, nil}, {"position independent", buildPIE, nil}, {"on an older kernel", buildToy, []bool{false}}} {
		t.Run(x.name, func(t *testing.T) {
			path, err := x.build()
			if err != nil {
				t.Fatal(err)
			}
			testToy(t, path, x.forms)
		})
	}
}

func testToy(t *testing.T, path string, forms []bool) {
	p, plan, table := planOf(t, openToy(t, path))
	r := runToy(t, path)
	probe, err := newProbe(p, plan, table, r.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	probe.forms = forms
	if err := probe.Start(toyCatalogue(), r.seen); err != nil {
		t.Fatal(err)
	}
	defer probe.Stop()

	since := time.Unix(1700000000, 123456789)
	mounted := func(n, attempt int) []string {
		node := "node-1 -7"
		if n == 2 {
			node = " <nil>" // the pod has none
		}
		return []string{
			"enter toy.mount [" + pod(n) + " <nil>] in toy.sync",
			fmt.Sprintf("exit toy.mount [false %d %v %s] <nil>", -attempt, since, node),
		}
	}
	synced := func(n, attempt int, in, result string) []string {
		shown := fmt.Sprint(attempt)
		if attempt == 1 {
			shown = "again"
		}
		lines := append([]string{fmt.Sprintf("enter toy.sync [%s %s]%s", pod(n), shown, in)}, mounted(n, attempt)...)
		return append(lines, "exit toy.sync [false "+result)
	}
	list := ""
	for n := range 3 {
		list += fmt.Sprintf(" {%s %d}", fields3(n), 100+n)
	}
	lines := []string{"enter toy.add [[" + list[1:] + "] 3]"}
	for n := range 3 {
		lines = append(lines, synced(n, 0, " in toy.add"+lineWith(t, "from here"), "true] <nil>")...)
	}
	r.want("add", append(lines, "exit toy.add [false] <nil>")...)

	lines = nil
	for attempt, result := range []string{
		"true] <nil>", "true] <nil>", "false] no such volume", "false] mount volumes: no such volume", "false] context deadline exceeded",
		"false] an error of type kubelet.odd, whose text cannot be read",
	} {
		lines = append(lines, synced(1, attempt, "", result)...)
	}
	r.want("fail", lines...)

	worker, begin := "{"+uidOf(0)+"   }", lineWith(t, "to begin")
	lines = []string{"enter toy.loop [" + worker + "] by worker"}
	for i, kind := range []string{"first", "second"} {
		lines = append(lines,
			"enter toy.begin ["+worker+"] in toy.loop"+begin+" by worker",
			"exit toy.begin [false "+kind+" true] <nil>",
			"enter toy.turn ["+worker+" "+kind+"] in toy.loop by worker")
		lines = append(lines, synced(0, 1-i, " in toy.turn"+lineWith(t, "from the turn")+" by worker", "true] <nil>")...)
		lines = append(lines, "exit toy.turn [false] <nil>", "enter toy.complete ["+worker+" true] in toy.loop"+lineWith(t, "at the end")+" by worker", "exit toy.complete [false] <nil>")
	}
	r.want("worker", append(lines, "enter toy.begin ["+worker+"] in toy.loop"+begin+" by worker", "exit toy.begin [false  false] <nil>", "exit toy.loop [false] <nil>")...)

	// A call that does not return is noticed when its goroutine goes on.
	r.want("panic", "enter toy.panics ["+pod(0)+"]")
	r.want("fail", "exit toy.panics [] the function did not return: it panicked, or its goroutine has ended")
	for range synced(0, 0, "", "") {
		for range 6 {
			<-r.seen.lines
		}
	}
	r.want("grow", "enter toy.grows ["+pod(1)+"]", "exit toy.grows [false 1000 web-1] <nil>")

	for probe.Cost().Each == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if cost := probe.Cost(); cost.Hits < 100 || cost.Hits > 1000 {
		t.Errorf("%d hits are counted", cost.Hits)
	}
	t.Logf("a hit takes %v", probe.Cost().Each)
	if err := probe.Stop(); err != nil {
		t.Error(err)
	}
	r.do("add")
	select {
	case line := <-r.seen.lines:
		t.Errorf("after its end it sees %s", line)
	default:
	}
}

// TestWrongTable: if a table leads to other memory, nothing of that memory is shown.
func TestWrongTable(t *testing.T) {
	path, err := buildToy()
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.NewReplacer("Pod:UID+0", "Pod:UID+16", "toy.loop\tpod\tuid\tstring\tuid\tr1", "toy.loop\tpod\tuid\tstring\tuid\tr7").Replace(toyTable)
	p, plan, table := planBy(t, openToy(t, path), wrong)
	r := runToy(t, path)
	probe, err := newProbe(p, plan, table, r.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Start(toyCatalogue(), r.seen); err != nil {
		t.Fatal(err)
	}
	const none = ": what it reads as a pod's UID is none"
	r.want("add", "refused toy.add"+none, "refused toy.sync"+none, "refused toy.mount"+none)
	r.do("add")
	if err := probe.Stop(); err != nil {
		t.Error(err)
	}
	select {
	case line := <-r.seen.lines:
		t.Errorf("it sees %s", line)
	default:
	}
}
