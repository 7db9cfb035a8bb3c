package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/probes/words"
)

// toolAbout is what there is to say of a tool.
type toolAbout struct {
	name, title, text string
	// sources says that its answers are about podstep's sources, such as this machine.
	sources bool
	// changes says that it does not only read.
	changes bool
}

// add adds a tool.
func add[Q any, P interface {
	*Q
	question
}](to *sdk.Server, s *server, about toolAbout, answer func(context.Context, Q) (*Answer, error)) {
	open := false
	tool := &sdk.Tool{
		Name: about.name, Title: about.title, Description: about.text,
		Annotations: &sdk.ToolAnnotations{
			Title: about.title, ReadOnlyHint: !about.changes, IdempotentHint: !about.changes, DestructiveHint: &about.changes, OpenWorldHint: &open,
		},
	}
	sdk.AddTool(to, tool, func(ctx context.Context, _ *sdk.CallToolRequest, q Q) (*sdk.CallToolResult, any, error) {
		result, err := ask[Q, P](ctx, s, tool, q, about.sources, answer)
		return result, nil, err
	})
}

func addTools(to *sdk.Server, s *server) {
	add(to, s, toolAbout{
		name: "why", title: "Why a pod is stuck",
		text: `Says why a pod is stuck: findings, the first cause first, each with an id, a sentence, its certainty, evidence, what would refute it, the timer that runs, and what to do. Without a pod: every pod that is not well, grouped by cause. With KIND/NAME: why an owner has too few pods, or what is wrong with a node, a namespace, a claim (pvc) or a service, and with its pods.`,
	}, s.answers.Why)
	add(to, s, toolAbout{
		name: "pods", title: "What every pod is doing",
		text: `Lists the pods of a node, the worst first: state (held, stuck, retry, working, waiting, running, done), since when, at which step of the kubelet, and the last error.`,
	}, s.answers.Pods)
	add(to, s, toolAbout{
		name: "trace", title: "What happened to a pod, step by step",
		text: `Lists the events of pods in their order: what entered and left which step of the kubelet, when, how long it took (durationNs), with which values and which error. Choose by pod, step and filter: a pod has hundreds of events.`,
	}, s.answers.Trace)
	add(to, s, toolAbout{
		name: "compare", title: "How two pods differ",
		text: `Lays the creation, or the termination, of two pods side by side: a verdict in a sentence, where the time went in each (the largest difference first), and the first place where their stories part.`,
	}, s.answers.Compare)
	add(to, s, toolAbout{
		name: "steps", title: "What the steps are",
		text: `Explains the steps of the kubelet's pod pipeline, by name or stage: what each does, its function and file in the kubelet, its timers, and the lines that it writes to the log.`,
	}, s.answers.Steps)
	add(to, s, toolAbout{
		name: "doctor", title: "What podstep can see here", sources: true,
		text: `Says which agent podstep has, what each of its probes sees, and what is missing on this machine to see more, with what to do about it. Ask it when other tools list much under "unseen".`,
	}, s.answers.Doctor)
}

// oneLine returns a text as one line of bounded length.
func oneLine(text string) string { return words.Cut(words.OneLine(text), maxError) }
