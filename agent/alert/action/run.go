package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/probes"
)

// Bounds of a program: how long it may take, how long what it has started may keep its output open, how much of its
// output a message has, and how long a variable is.
const (
	RunTime   = 30 * time.Second
	runDelay  = time.Second
	runOutput = 1 << 10
	runText   = 4 << 10
)

// RunPause is the least time between two starts of a program.
const RunPause = time.Second

// Run runs a program for each match. The program gets the match in its environment, and as JSON on its standard input.
// No shell is in between, so no text of a pod is ever read as a command.
type Run struct {
	name, path string
	// most is how long the program may take.
	most time.Duration
}

// NewRun finds a program, as a path or in $PATH.
func NewRun(name string) (*Run, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		var why *exec.Error
		if errors.As(err, &why) {
			err = why.Err
		}
		return nil, fmt.Errorf("find program %s: %w", name, err)
	}
	return &Run{name, path, RunTime}, nil
}

// String names the program.
func (r *Run) String() string { return "run " + r.name }

// Do runs the program and waits for its end.
func (r *Run) Do(ctx context.Context, m *alert.Match) error {
	in, err := encode(m)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, r.most)
	defer cancel()
	var out tail
	cmd := exec.CommandContext(within, r.path)
	cmd.Env = append(os.Environ(), environment(m)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &out
	cmd.WaitDelay = runDelay
	endAll(cmd)
	err = cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil // what it has started goes on by itself
	case ctx.Err() != nil:
		return errors.New("ended, because podstep ends")
	case within.Err() != nil:
		return fmt.Errorf("ended after %s%s", r.most, out.text())
	}
	return fmt.Errorf("%w%s", err, out.text())
}

// environment returns the match as variables. All of them are always set.
func environment(m *alert.Match) (env []string) {
	last := m.Last()
	pod := m.Pod
	if pod == nil {
		pod = &probes.Pod{}
	}
	for _, v := range [][2]string{
		{"ALERT", m.Alert}, {"TIME", m.Time.UTC().Format(time.RFC3339Nano)}, {"TEXT", m.Text()},
		{"POD", pod.Name}, {"NAMESPACE", pod.Namespace}, {"UID", pod.UID},
		{"STEP", last.StepName()}, {"STATE", last.State}, {"ERROR", last.ErrorText()},
	} {
		env = append(env, "PODSTEP_"+v[0]+"="+variable(v[1]))
	}
	return env
}

// variable cuts a text to what a variable can have: no NUL, and not too long.
func variable(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) <= runText {
		return s
	}
	return strings.ToValidUTF8(s[:runText], "")
}

// tail keeps the end of an output.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b[max(0, len(b)-runOutput):]...)
	t.b = t.b[max(0, len(t.b)-runOutput):]
	return len(b), nil
}

func (t *tail) text() string {
	if s := strings.TrimSpace(string(t.b)); s != "" {
		return ": " + s
	}
	return ""
}
