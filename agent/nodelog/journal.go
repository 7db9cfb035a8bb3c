package nodelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// maxPrinted bounds what is kept of the errors that journalctl prints, in bytes.
const maxPrinted = 4 << 10

// command makes the command that reads the journal's entries of the process. The journal's own program knows the
// format of the host's journal; in a container, the host's program is run on the host's files.
func (l *Log) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	args = append([]string{"_PID=" + strconv.Itoa(l.pid), "--output=json", "--output-fields=MESSAGE", "--no-pager", "--quiet"}, args...)
	name, root := "journalctl", ""
	if _, err := exec.LookPath(name); err != nil {
		if name, root = hostsJournalctl(); name == "" {
			return nil, ErrNone
		}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = childOf(root)
	if root != "" {
		cmd.Dir = "/"
	}
	return cmd, nil
}

// hostsJournalctl finds the program in the root of the first process.
func hostsJournalctl() (name, root string) {
	const host = "/proc/1/root"
	for _, name := range []string{"/usr/bin/journalctl", "/bin/journalctl"} {
		if _, err := os.Stat(filepath.Join(host, name)); err == nil {
			return name, host
		}
	}
	return "", ""
}

// journal returns the last entries of the process, the newest at the end.
func (l *Log) journal(ctx context.Context, args ...string) ([]byte, error) {
	cmd, err := l.command(ctx, args...)
	if err != nil {
		return nil, err
	}
	out := &tail{}
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &limited{&printed, maxPrinted}
	runtime.LockOSThread() // childOf binds the child to the thread
	defer runtime.UnlockOSThread()
	if err := l.failure(ctx, cmd.Run(), &printed); err != nil {
		return nil, err
	}
	return out.text, nil
}

// failure explains why journalctl has failed.
func (l *Log) failure(ctx context.Context, err error, printed *bytes.Buffer) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ErrNone
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && printed.Len() > 0:
		return errors.New("journalctl: " + strings.TrimSpace(printed.String()))
	case err != nil:
		return fmt.Errorf("read the journal: %w", err)
	}
	return nil
}

// followJournal hands over the journal's entries, each a line of JSON.
func (l *Log) followJournal(ctx context.Context, add func(line string)) error {
	runtime.LockOSThread() // childOf binds the child to the thread
	defer runtime.UnlockOSThread()
	from := "--lines=" + strconv.Itoa(maxEntries)
	if l.cursor != "" {
		from = "--after-cursor=" + l.cursor
	}
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	cmd, err := l.command(ctx, "--follow", from)
	if err != nil {
		return err
	}
	var printed bytes.Buffer
	cmd.Stderr = &limited{&printed, maxPrinted}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return l.failure(ctx, err, &printed)
	}
	go l.awaitEnd(ctx, ended)
	lines := &splitter{add: func(line string) {
		if cursor := cursorOf(line); cursor != "" {
			l.cursor = cursor
		}
		add(line)
	}}
	read := lines.readAll(out)
	err = errors.Join(read, cmd.Wait())
	if cause := context.Cause(ctx); errors.Is(cause, ErrEnded) {
		return cause
	}
	if err := l.failure(ctx, err, &printed); err != nil {
		return err
	}
	return errors.New("journalctl has ended")
}

// lookEvery is how often podstep looks whether the process that writes to the journal is still there: the journal does
// not say when it has ended.
const lookEvery = time.Second

// awaitEnd calls ended when the process has ended. It returns when ctx ends.
func (l *Log) awaitEnd(ctx context.Context, ended context.CancelCauseFunc) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if startOf(l.pid) != l.started {
				ended(ErrEnded)
				return
			}
		}
	}
}

// cursorOf returns the journal's mark of an entry.
func cursorOf(line string) string {
	_, rest, _ := strings.Cut(line, `"__CURSOR":"`)
	if rest == "" {
		_, rest, _ = strings.Cut(line, `"__CURSOR" : "`)
	}
	cursor, _, _ := strings.Cut(rest, `"`)
	return cursor
}

// tail keeps the last bytes that are written.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if len(t.text) > 2*maxTail {
		t.text = append([]byte(nil), t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

// limited takes all bytes, and passes on no more than left.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(l.left, len(b))
	l.left -= n
	_, err := l.w.Write(b[:n])
	return len(b), err
}

// variable returns the value of a variable of a process's environment.
func variable(environ []byte, name string) string {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := strings.CutPrefix(string(v), name+"="); ok {
			return value
		}
	}
	return ""
}
