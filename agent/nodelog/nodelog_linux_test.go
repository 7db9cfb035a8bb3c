package nodelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writer is a process with its standard error in a file. It writes what it reads.
type writer struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   *os.File
	name string
}

func startWriter(t *testing.T, env ...string) *writer {
	t.Helper()
	w := &writer{t: t, name: filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(w.name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	from, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	w.in, w.cmd = in, exec.Command("sh", "-c", `while read -r line; do case "$line" in "to "*) exec 2>>"${line#to }";; *) echo "$line" >&2;; esac; done`)
	w.cmd.Env, w.cmd.Stdin, w.cmd.Stderr = append(os.Environ(), env...), from, log
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	return w
}

func (w *writer) write(line string) { fmt.Fprintln(w.in, line) }

func (w *writer) end() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

// follow follows the log of the process.
func (w *writer) follow() (lines chan string, ended chan error) {
	w.t.Helper()
	l, err := Of(w.t.Context(), w.cmd.Process.Pid)
	if err != nil {
		w.t.Fatal(err)
	}
	lines, ended = make(chan string, 100), make(chan error, 1)
	go func() { ended <- l.Follow(w.t.Context(), func(line string) { lines <- line }) }()
	return lines, ended
}

func expect(t *testing.T, lines chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-lines; got != w {
			t.Fatalf("got %.80q, want %.80q", got, w)
		}
	}
}

// TestFollowFile follows a log through what happens to files: it grows, is cut, goes on in another file, has a line of
// any length, and its writer ends.
func TestFollowFile(t *testing.T) {
	w := startWriter(t)
	w.write("before")
	lines, ended := w.follow()
	expect(t, lines, "before")
	w.write("after")
	expect(t, lines, "after")

	if err := os.Truncate(w.name, 0); err != nil {
		t.Fatal(err)
	}
	w.write("cut")
	if got := strings.TrimLeft(<-lines, "\x00"); got != "cut" { // the writer goes on behind a hole
		t.Errorf("got %q", got)
	}
	other := filepath.Join(t.TempDir(), "other")
	w.write("to " + other)
	w.write("in another file")
	expect(t, lines, "in another file")

	long := strings.Repeat("x", maxLine+10)
	w.write(long)
	expect(t, lines, long[:maxLine])
	w.write("last")
	w.end()
	expect(t, lines, "last")
	if err := <-ended; !errors.Is(err, ErrEnded) {
		t.Errorf("it ended with %v", err)
	}
}

// TestEnd reads the end of a file from the beginning of a line on.
func TestEnd(t *testing.T) {
	w := startWriter(t)
	if err := os.WriteFile(w.name, []byte(strings.Repeat(strings.Repeat("y", 999)+"\n", 2*maxTail/1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Of(t.Context(), w.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	text, err := l.End(t.Context(), time.Minute)
	if err != nil || len(text) > maxTail || len(text) < maxTail-1000 || len(text)%1000 != 0 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestZone takes the zone of a process's clock from its environment.
func TestZone(t *testing.T) {
	w := startWriter(t, "TZ=Asia/Shanghai")
	w.write("x")
	lines, _ := w.follow()
	expect(t, lines, "x") // the process has its environment
	l, err := Of(t.Context(), w.cmd.Process.Pid)
	if err != nil || l.Zone.String() != "Asia/Shanghai" {
		t.Errorf("the zone is %v, %v", l.Zone, err)
	}
}

// fakeJournal puts a journalctl before all others. It answers with a script's output.
func fakeJournal(t *testing.T, script string) (arguments string) {
	t.Helper()
	dir := t.TempDir()
	arguments = filepath.Join(dir, "arguments")
	text := "#!/bin/sh\necho \"$@\" >>" + arguments + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, "journalctl"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return arguments
}

// silent is a process whose log is in no file.
func silent(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// TestFollowJournal goes on behind the last entry when journalctl has ended.
func TestFollowJournal(t *testing.T) {
	arguments := fakeJournal(t, `echo '{"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1","MESSAGE":"x"}'`)
	l, err := Of(t.Context(), silent(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := 0
		if err := l.Follow(t.Context(), func(string) { n++ }); err == nil || n != 1 {
			t.Errorf("%d lines, %v", n, err)
		}
	}
	asked, _ := os.ReadFile(arguments)
	all := strings.Split(strings.TrimSpace(string(asked)), "\n")
	if len(all) != 3 || !strings.Contains(all[1], "--follow --lines=") || !strings.Contains(all[2], "--follow --after-cursor=s=1;i=2") {
		t.Errorf("it was called with %q", all)
	}
}

// TestJournalOfEnded ends with the process whose entries are followed: the next one has another PID.
func TestJournalOfEnded(t *testing.T) {
	fakeJournal(t, `echo '{"__CURSOR":"1","__REALTIME_TIMESTAMP":"1","MESSAGE":"x"}'; case "$*" in *--follow*) exec sleep 1000;; esac`)
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l, err := Of(t.Context(), cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Follow(t.Context(), func(string) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !errors.Is(err, ErrEnded) {
		t.Errorf("it ended with %v", err)
	}
}

// TestNoJournal reports a log that cannot be read, and what journalctl prints of the reason.
func TestNoJournal(t *testing.T) {
	pid := silent(t)
	for name, c := range map[string]struct{ script, want string }{
		"no entry": {"", ErrNone.Error()},
		"refused":  {"echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1", "journalctl: No journal files were opened due to insufficient permissions."},
		"fails":    {"exit 3", "read the journal: exit status 3"},
	} {
		fakeJournal(t, c.script)
		if _, err := Of(t.Context(), pid); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Of(ctx, pid); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
