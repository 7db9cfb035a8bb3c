package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/probes/words"
)

// add adds a tool that only reads. sources says that its answers are about podstep's sources, such as this machine.
func add[Q any, P interface {
	*Q
	question
}](to *sdk.Server, s *server, name, title, text string, sources bool, answer func(context.Context, Q) (*Answer, error)) {
	no := false
	tool := &sdk.Tool{
		Name: name, Title: title, Description: text,
		Annotations: &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
	sdk.AddTool(to, tool, func(ctx context.Context, _ *sdk.CallToolRequest, q Q) (*sdk.CallToolResult, any, error) {
		result, err := ask[Q, P](ctx, s, tool, q, sources, answer)
		return result, nil, err
	})
}

func addTools(to *sdk.Server, s *server) {
	add(to, s, "why", "Why a pod is stuck",
		`Says why a pod is stuck: findings, the first cause first, each with an id, a sentence, its certainty, evidence, what would refute it, the timer that runs, and what to do. Without a pod: every pod that is not well, grouped by cause. With KIND/NAME: why an owner has too few pods.`,
		false, s.answers.Why)
	add(to, s, "pods", "What every pod is doing",
		`Lists the pods of a node, the worst first: state (held, stuck, retry, working, waiting, running, done), since when, at which step of the kubelet, and the last error.`,
		false, s.answers.Pods)
	add(to, s, "trace", "What happened to a pod, step by step",
		`Lists the events of pods in their order: what entered and left which step of the kubelet, when, how long it took (durationNs), with which values and which error. Choose by pod, step and filter: a pod has hundreds of events.`,
		false, s.answers.Trace)
	add(to, s, "compare", "How two pods differ",
		`Lays the creation, or the termination, of two pods side by side: a verdict in a sentence, where the time went in each (the largest difference first), and the first place where their stories part.`,
		false, s.answers.Compare)
	add(to, s, "steps", "What the steps are",
		`Explains the steps of the kubelet's pod pipeline, by name or stage: what each does, its function and file in the kubelet, its timers, and the lines that it writes to the log.`,
		false, s.answers.Steps)
	add(to, s, "doctor", "What podstep can see here",
		`Says which agent podstep has, what each of its probes sees, and what is missing on this machine to see more, with what to do about it. Ask it when other tools list much under "unseen".`,
		true, s.answers.Doctor)
}

// oneLine returns a text as one line of bounded length.
func oneLine(text string) string { return words.Cut(words.OneLine(text), maxError) }
