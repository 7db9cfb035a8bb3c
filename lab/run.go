package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// run runs a program and returns its output.
func run(ctx context.Context, path string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(path), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// poll calls ask until it succeeds. If ctx ends first, the error has its cause. If time ran out, the error also has
// the last error of ask.
func poll(ctx context.Context, ask func(context.Context) error) error {
	for {
		missing := ask(ctx)
		if missing == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
			continue
		case <-ctx.Done():
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), missing)
		}
		return context.Cause(ctx)
	}
}

// dial returns nil if a program listens on a unix socket.
func dial(ctx context.Context, socket string) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return c.Close()
}
