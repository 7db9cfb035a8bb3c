package mcp

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/podstep/podstep/agent/agentpb"
)

// The prompts lead through the questions in a good order. %s stands for the pod.
const (
	stuckText = `The pod %[1]s is stuck. Find out why, by podstep's tools alone.

1. Ask why with pod %[1]s. Take the first finding that is no consequence of another. Read its evidence and what would refute it.
2. If something is listed under "unseen", say what follows from it. Do not conclude from what was not seen.
3. If the finding is only possible, ask trace with pods %[1]s and filter "err", and then the last 30 events, and look for what supports or refutes it.
4. If it waits for its next try, say when that is, from the finding.

Answer in a few sentences: the cause with its id and how certain it is, since when, the evidence in its own words, what would refute it, and the first thing to do. Do not run what changes the cluster; propose it.`

	slowText = `The pod %[1]s starts slowly. Find out where the time goes, by podstep's tools alone.

1. Ask trace with pods %[1]s and filter "kind=exit slow>500ms". The steps nest: of a slow step, look for the slow steps within it.
2. Ask why with pod %[1]s, in case something failed and was tried again.
%[2]s
Answer in a few sentences: how long the start took, which steps took most of it with their durations, what the kubelet waited for there, and what would make it faster. Say what could not be seen.`

	slowOther = "3. Ask compare with a %[1]s and b %[2]s. The first of its times is the largest difference.\n"
	slowAlone = "3. If there is a pod of the same kind that started faster, ask compare with both: pods lists them.\n"
)

func addPrompts(to *sdk.Server) {
	pod := &sdk.PromptArgument{Name: "pod", Title: "Pod", Description: "the pod, as NAME or NAMESPACE/NAME", Required: true}
	to.AddPrompt(&sdk.Prompt{
		Name: "stuck_pod", Title: "A pod is stuck", Description: "Finds out why a pod is stuck, with evidence, and what to do next.",
		Arguments: []*sdk.PromptArgument{pod},
	}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		name, err := podArgument(r, "pod")
		if err != nil {
			return nil, err
		}
		return prompt(fmt.Sprintf(stuckText, name)), nil
	})
	other := &sdk.PromptArgument{Name: "other", Title: "A faster pod", Description: "a pod that started faster, as NAME or NAMESPACE/NAME"}
	to.AddPrompt(&sdk.Prompt{
		Name: "slow_start", Title: "A pod starts slowly", Description: "Finds out where the time of a pod's start goes.",
		Arguments: []*sdk.PromptArgument{pod, other},
	}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		name, err := podArgument(r, "pod")
		if err != nil {
			return nil, err
		}
		third := slowAlone
		if r.Params.Arguments["other"] != "" {
			faster, err := podArgument(r, "other")
			if err != nil {
				return nil, err
			}
			third = fmt.Sprintf(slowOther, name, faster)
		}
		return prompt(fmt.Sprintf(slowText, name, third)), nil
	})
}

// podArgument returns an argument of a prompt that names a pod. It becomes a part of the text that an assistant reads, so
// it is nothing but a name.
func podArgument(r *sdk.GetPromptRequest, name string) (string, error) {
	given := r.Params.Arguments[name]
	sel, err := agentpb.ParsePods(given)
	if err != nil || given == "" || sel.HasGlob() {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the argument %s is not the name of a pod; write NAME or NAMESPACE/NAME", name)}
	}
	return sel.Written(), nil
}

func prompt(text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
}
