package cri

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// TestTable: each call of the catalogue has a method that the CRI has, and each of its fields a path that leads to
// something.
func TestTable(t *testing.T) {
	c := probes.MustLoad()
	if _, err := newTable(c); err != nil {
		t.Error(err)
	}
	for _, s := range c.Steps {
		if client := strings.HasPrefix(s.Symbol, "k8s.io/cri-client/"); (s.CRI != "") != client || client != (s.Stage == "cri" && !s.Outside()) {
			t.Errorf("step %s of stage %s is %q, and calls %q", s.Name, s.Stage, s.Symbol, s.CRI)
		}
	}
	for name, change := range map[string]func(s *probes.Step){
		"no method":       func(s *probes.Step) { s.CRI = "RuntimeService.Rest" },
		"another service": func(s *probes.Step) { s.CRI = "ImageService.ContainerStatus" },
		"a stream":        func(s *probes.Step) { s.CRI = "RuntimeService.GetContainerEvents" },
		"no such field":   func(s *probes.Step) { s.Fields = []probes.Field{{Name: "x", CRI: "x"}} },
		"no such result":  func(s *probes.Step) { s.Results = []probes.Field{{Name: "x", CRI: "container_id"}} },
	} {
		bad := &probes.Catalogue{Steps: slices.Clone(c.Steps)}
		change(&bad.Steps[c.Step("cri.ContainerStatus").ID])
		if _, err := newTable(bad); err == nil || !strings.Contains(err.Error(), "cri.ContainerStatus") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseValue(t *testing.T) {
	status := &runtimeapi.ContainerStatus{State: 9, ExitCode: 3, Labels: map[string]string{"a": "b"}}
	for _, tt := range []struct {
		path string
		in   proto.Message
		want any // nil: the path is refused
	}{
		{"cmd", &runtimeapi.ExecSyncRequest{Cmd: []string{"a", "b"}}, []string{"a", "b"}},
		{"cmd", &runtimeapi.ExecSyncRequest{}, []string(nil)},
		{"timeout", &runtimeapi.ExecSyncRequest{Timeout: 7}, int64(7)},
		{"timeout*1s", &runtimeapi.ExecSyncRequest{Timeout: 7}, 7 * time.Second},
		{"status.exit_code", &runtimeapi.ContainerStatusResponse{Status: status}, 3},
		{"status.state", &runtimeapi.ContainerStatusResponse{}, "CONTAINER_CREATED"},
		{"status?.state", &runtimeapi.ContainerStatusResponse{}, ""},
		{"status.state", &runtimeapi.ContainerStatusResponse{Status: status}, "9"},
		{"status.image?", &runtimeapi.ContainerStatusResponse{Status: status}, false},
		{"status?", &runtimeapi.ContainerStatusResponse{Status: status}, true},
		{"status", &runtimeapi.ContainerStatusResponse{}, (*runtimeapi.ContainerStatus)(nil)},

		{"", &runtimeapi.ExecSyncRequest{}, nil},
		{"cmd.x", &runtimeapi.ExecSyncRequest{}, nil},
		{"command", &runtimeapi.ExecSyncRequest{}, nil},
		{"timeout*1 lap", &runtimeapi.ExecSyncRequest{}, nil},
		{"cmd*1s", &runtimeapi.ExecSyncRequest{}, nil},
		{"stdout", &runtimeapi.ExecSyncResponse{}, nil}, // bytes
		{"status.labels", &runtimeapi.ContainerStatusResponse{}, nil},
		{"status.mounts.host_path", &runtimeapi.ContainerStatusResponse{}, nil},
		{"Nothing{linux}", &runtimeapi.UpdateContainerResourcesRequest{}, nil},
		{"ContainerResources{container_id}", &runtimeapi.UpdateContainerResourcesRequest{}, nil},
	} {
		m := tt.in.ProtoReflect()
		v, err := parseValue(m.Descriptor(), tt.path)
		if (err == nil) != (tt.want != nil) {
			t.Errorf("%s in %s: %v", tt.path, m.Descriptor().Name(), err)
		}
		if err != nil || tt.want == nil {
			continue
		}
		if got := v.of(m); !reflect.DeepEqual(got, tt.want) || reflect.TypeOf(v.zero) != reflect.TypeOf(got) || !reflect.ValueOf(v.zero).IsZero() {
			t.Errorf("%s in %s = %#v, zero %#v; want %#v", tt.path, m.Descriptor().Name(), got, v.zero, tt.want)
		}
	}
}
