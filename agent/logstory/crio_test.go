package logstory

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
)

// crioLog has the lines that the source of CRI-O v1.34 writes in the life of a pod.
const crioLog = `time="2026-11-25T15:06:01.100000000Z" level=info msg="Running pod sandbox: default/web/POD" id=0a1b2c3d-0000-4000-8000-000000000001 name=/runtime.v1.RuntimeService/RunPodSandbox
time="2026-11-25T15:06:01.300000000Z" level=info msg="Ran pod sandbox aaaa with infra container: default/web/POD" id=0a1b2c3d-0000-4000-8000-000000000001 name=/runtime.v1.RuntimeService/RunPodSandbox
time="2026-11-25T15:06:01.310000000Z" level=info msg="Pulling image: quay.io/app:1" id=0a1b2c3d-0000-4000-8000-000000000002 name=/runtime.v1.ImageService/PullImage
time="2026-11-25T15:06:02.310000000Z" level=info msg="Pulled image: quay.io/app@sha256:11" id=0a1b2c3d-0000-4000-8000-000000000002 name=/runtime.v1.ImageService/PullImage
time="2026-11-25T15:06:02.320000000Z" level=info msg="Creating container: default/web/app" id=0a1b2c3d-0000-4000-8000-000000000003 name=/runtime.v1.RuntimeService/CreateContainer
time="2026-11-25 15:06:02.350000000Z" level=info msg="Created container bbbb: default/web/app" id=0a1b2c3d-0000-4000-8000-000000000003 name=/runtime.v1.RuntimeService/CreateContainer
time="2026-11-25T15:06:02.360000000Z" level=info msg="Starting container: bbbb" id=0a1b2c3d-0000-4000-8000-000000000004 name=/runtime.v1.RuntimeService/StartContainer
time="2026-11-25T15:06:02.400000000Z" level=info msg="Started container" PID=77 containerID=bbbb description=default/web/app id=0a1b2c3d-0000-4000-8000-000000000004 name=/runtime.v1.RuntimeService/StartContainer sandboxID=aaaa
time="2026-11-25T15:06:09.000000000Z" level=info msg="Stopping container: bbbb (timeout: 30s)" id=0a1b2c3d-0000-4000-8000-000000000005 name=/runtime.v1.RuntimeService/StopContainer
time="2026-11-25T15:06:10.000000000Z" level=info msg="Stopped container bbbb: default/web/app" id=0a1b2c3d-0000-4000-8000-000000000005 name=/runtime.v1.RuntimeService/StopContainer
time="2026-11-25T15:06:10.100000000Z" level=info msg="Stopping pod sandbox: aaaa" id=0a1b2c3d-0000-4000-8000-000000000006 name=/runtime.v1.RuntimeService/StopPodSandbox
time="2026-11-25T15:06:10.200000000Z" level=info msg="Stopped pod sandbox (already stopped): aaaa" id=0a1b2c3d-0000-4000-8000-000000000006 name=/runtime.v1.RuntimeService/StopPodSandbox
time="2026-11-25T15:06:11.000000000Z" level=info msg="Removing container: bbbb" id=0a1b2c3d-0000-4000-8000-000000000007 name=/runtime.v1.RuntimeService/RemoveContainer
time="2026-11-25T15:06:11.010000000Z" level=info msg="Removed container bbbb: default/web/app" id=0a1b2c3d-0000-4000-8000-000000000007 name=/runtime.v1.RuntimeService/RemoveContainer
time="2026-11-25T15:06:12.000000000Z" level=info msg="Removing pod sandbox: aaaa" id=0a1b2c3d-0000-4000-8000-000000000008 name=/runtime.v1.RuntimeService/RemovePodSandbox
time="2026-11-25T15:06:12.010000000Z" level=info msg="Removed pod sandbox: aaaa" id=0a1b2c3d-0000-4000-8000-000000000008 name=/runtime.v1.RuntimeService/RemovePodSandbox
`

// TestCRIO: CRI-O's lines are the calls to the runtime, each with both ends. The UID of the pod is in the kubelet's log.
func TestCRIO(t *testing.T) {
	kubelet := `I1125 15:06:01.000000    1391 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["default/web"]
I1125 15:06:01.010000    1391 pod_workers.go:1265] "Processing pod event" pod="default/web" podUID="u-1" updateType="sync"
I1125 15:06:01.305000    1391 event.go:389] "Event occurred" object="default/web" fieldPath="spec.containers{app}" kind="Pod" apiVersion="v1" type="Normal" reason="Pulling" message="Pulling image \"quay.io/app:1\""
`
	_, all := story(t, recorded, write(t, "kubelet", []byte(kubelet)), write(t, "crio", []byte(crioLog)))
	whole(t, all)
	took := map[string]time.Duration{}
	for _, e := range all {
		if strings.HasPrefix(e.Step, "cri.") && e.Kind == probes.Exit {
			took[e.Step] = time.Duration(e.DurationNs)
		}
	}
	for step, want := range map[string]time.Duration{
		"cri.RunPodSandbox": 200 * time.Millisecond, "cri.PullImage": time.Second, "cri.CreateContainer": 30 * time.Millisecond,
		"cri.StartContainer": 40 * time.Millisecond, "cri.StopContainer": time.Second, "cri.StopPodSandbox": 100 * time.Millisecond,
		"cri.RemoveContainer": 10 * time.Millisecond, "cri.RemovePodSandbox": 10 * time.Millisecond,
	} {
		if took[step] != want {
			t.Errorf("%s took %v, want %v", step, took[step], want)
		}
	}
	if t.Failed() {
		t.Log("\n" + print(all))
	}
}
