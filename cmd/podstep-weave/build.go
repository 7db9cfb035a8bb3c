package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const prefix = "building: "

const (
	everyLook = 500 * time.Millisecond // how often the tool log is read
	everyLine = 15 * time.Second       // how often there is a line where lines are not overwritten
	untilPlan = 3 * time.Second        // builds that are shorter are not worth a plan
)

// build runs the go command with args and shows how far it is. It returns the
// go command's error.
func build(args []string) error {
	dir, err := os.MkdirTemp("", "podstep-weave")
	if err != nil {
		return fmt.Errorf("make directory for the tool log: %w", err)
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "tools"))
	if err != nil {
		return fmt.Errorf("make tool log: %w", err)
	}
	defer file.Close()

	screen := newDisplay(os.Stderr)
	cmd := exec.Command("go", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, screen
	cmd.Env = append(os.Environ(), toolLogVariable+"="+file.Name())
	// The go command ends in its own way, and podstep-weave ends after it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	w := &watch{log: toolLog{from: file}, screen: screen, progress: newProgress(), args: args}
	defer w.end()
	tick := time.NewTicker(everyLook)
	defer tick.Stop()
	for {
		select {
		case s := <-signals:
			if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("end go: %w", err)
			}
		case now := <-tick.C:
			w.look(now)
		case err := <-ended:
			w.look(time.Now())
			return err
		}
	}
}

// watch shows the progress of one build.
type watch struct {
	log      toolLog
	screen   *display
	progress *progress
	args     []string // of the go command

	first, last time.Time          // the first look that found something, the last line
	planned     chan *plan         // nil until the plan is asked for
	stop        context.CancelFunc // ends the asking for the plan
	asking      sync.WaitGroup
}

// look reads the tool log and shows what is new. Its errors cost the display only.
func (w *watch) look(now time.Time) {
	entries, err := w.log.read()
	if err != nil {
		return
	}
	for _, e := range entries {
		w.progress.add(e)
	}
	if !w.progress.begun() {
		return
	}
	if w.first.IsZero() {
		w.first, w.last = now, now
	}
	elapsed := now.Sub(w.first)
	if w.planned == nil && elapsed >= untilPlan {
		w.makePlan()
	}
	select {
	case p := <-w.planned:
		w.progress.plan = p
	default:
	}
	if !w.screen.inPlace() && now.Sub(w.last) < everyLine {
		return
	}
	w.last = now
	w.screen.show(prefix + w.progress.line(elapsed))
}

// makePlan makes the plan while the build goes on.
func (w *watch) makePlan() {
	ctx, stop := context.WithCancel(context.Background())
	w.planned, w.stop = make(chan *plan, 1), stop
	w.asking.Go(func() {
		// Without a plan there is no estimate; the rest is still shown.
		if p, err := askPlan(ctx, w.args); err == nil {
			w.planned <- p
		}
	})
}

// end sums up a build that was long enough to be shown.
func (w *watch) end() {
	if w.planned == nil {
		w.screen.end("")
		return
	}
	w.stop()
	w.asking.Wait()
	w.screen.end("built: " + w.progress.summary(time.Since(w.first)))
}
