package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Whatif asks podstep-lab, which has the kubelet's code, for plans, and returns its answer.
func Whatif(ctx context.Context, question []byte) ([]byte, error) {
	path, err := findProgram("podstep-lab")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "whatif")
	var answer, messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &answer, &messages
	err = cmd.Run()
	var exit *exec.ExitError
	switch text := strings.TrimSpace(messages.String()); {
	case errors.As(err, &exit) && text != "":
		return nil, errors.New(strings.TrimPrefix(text, "podstep-lab: "))
	case err != nil:
		return nil, fmt.Errorf("run podstep-lab: %w", err)
	}
	return answer.Bytes(), nil
}
