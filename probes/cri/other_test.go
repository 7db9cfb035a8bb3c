package cri

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// TestEveryMethod: each method of the CRI is a step of its own, one of the others, or a
// stream.
func TestEveryMethod(t *testing.T) {
	streams := 0
	for _, path := range Names() {
		m := Any(path)
		switch {
		case m == nil:
			streams++
			if path != runtimeapi.RuntimeService_GetContainerEvents_FullMethodName && !strings.Contains(path, "/Stream") {
				t.Errorf("%s is no stream, and is not seen", path)
			}
		case m.Name != path || (m.Step == Other) != (Lookup(path) == nil):
			t.Errorf("%s is %s, step %s", path, m.Name, m.Step)
		}
	}
	if n := len(Methods()) + len(Others()) + streams; n != len(Names()) {
		t.Errorf("%d methods are sorted, of %d", n, len(Names()))
	}
	if !slices.Contains(Names(), "/runtime.v1.ImageService/ListImages") || Any("/other.Service/Method") != nil {
		t.Error("an image method is missing, or a foreign one is there")
	}
}

// TestOther: of another call only the method is shown, and its pod if it names a container; nothing of a secret is
// shown.
func TestOther(t *testing.T) {
	const secret = "hunter2"
	step := probes.MustLoad().Step(Other)
	for path, q := range map[string][]byte{
		runtimeapi.RuntimeService_ListContainers_FullMethodName:     marshal(t, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: secret}}),
		runtimeapi.RuntimeService_ReopenContainerLog_FullMethodName: marshal(t, &runtimeapi.ReopenContainerLogRequest{ContainerId: "c1"}),
		runtimeapi.RuntimeService_Exec_FullMethodName:               marshal(t, &runtimeapi.ExecRequest{ContainerId: "c1", Cmd: []string{secret}}),
		runtimeapi.RuntimeService_PodSandboxStats_FullMethodName:    marshal(t, &runtimeapi.PodSandboxStatsRequest{PodSandboxId: "c1"}),
	} {
		m := Any(path)
		r, err := m.Request(q)
		if err != nil {
			t.Fatal(err)
		}
		values := m.Enter(r)
		if len(values) != len(step.Fields) || values[0] != path[strings.LastIndexByte(path, '/')+1:] {
			t.Errorf("%s shows %v", path, values)
		}
		if named := r.Ref.ID == "c1"; named == strings.HasSuffix(path, "ListContainers") {
			t.Errorf("%s is about %+v", path, r.Ref)
		}
		if a := m.Failed(r, codes.NotFound, "no"); a.Err == nil {
			t.Errorf("%s does not fail: %+v", path, a)
		}
	}
}
