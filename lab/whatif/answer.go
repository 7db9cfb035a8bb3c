package whatif

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/whatif"
)

// maxQuestion bounds a question, in bytes.
const maxQuestion = 1 << 20

// Answer reads a question from in, as podstep whatif asks it, and writes the answer to out. The answer names the version of
// the kubelet's code in this program.
func Answer(in io.Reader, out io.Writer, version string) error {
	text, err := io.ReadAll(io.LimitReader(in, maxQuestion+1))
	switch {
	case err != nil:
		return fmt.Errorf("read question: %w", err)
	case len(text) > maxQuestion:
		return fmt.Errorf("the question is longer than %d bytes", maxQuestion)
	}
	q, err := whatif.ParseQuestion(text)
	if err != nil {
		return err
	}
	p, err := NewPlanner(q.Inputs)
	if err != nil {
		return err
	}
	a, err := whatif.Explain(q, p.Plan)
	if err != nil {
		return err
	}
	a.Kubelet = version
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
