package tui

import (
	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/session"
)

// retryWait is how long the agent waits for the pod's worker: less than a request may take.
const retryWait = callTime * 4 / 5

// offRetry returns why the kubelet cannot try the selected pod again.
func offRetry(m *Model) text {
	if why := offNoHolds(m); why != (text{}) {
		return why
	}
	if _, ok := m.selected(); !ok {
		return words.Text("no pod is selected", "没有选中 Pod")
	}
	if !m.info.GetRetries() {
		return words.Text("podstep is beside this kubelet, not in it, and cannot end its back-offs; podstep retry has the pod synced by the API server", "podstep 在这个 kubelet 旁边而不在其中，无法结束退避；podstep retry 可以通过 API 服务器让它同步")
	}
	if m.heldHere() != nil {
		return words.Text("the pod is held; {key:step.continue} lets it go", "Pod 被停住；按 {key:step.continue} 放行")
	}
	return text{}
}

// rankRetry ranks the action for a pod that waits for its next try, or does not progress.
func rankRetry(m *Model) int {
	if m.control == nil || !m.info.GetRetries() {
		return 0
	}
	if mark := m.screen().Why.Mark; mark != life.Retrying && mark != life.Stuck {
		return 0
	}
	return 75
}

// retry has the kubelet try the selected pod again at once.
func (m *Model) retry() tea.Cmd {
	pod, ok := m.selected()
	if !ok {
		return nil
	}
	req := &agentpb.RetryRequest{
		Pods: session.Only(&agentpb.Pod{Namespace: pod.Namespace, Name: pod.Name, Uid: pod.UID}), Wait: durationpb.New(retryWait),
	}
	name, control := pod.NamespacedName(), m.control
	return func() tea.Msg {
		ctx, cancel := m.within()
		defer cancel()
		answer, err := control.Retry(ctx, req)
		return doneMsg{m.text(reason.Retried(name, answer)), err}
	}
}
