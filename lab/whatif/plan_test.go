package whatif

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/whatif"
)

// base is a pod with an init container, a sidecar and an app container, that runs.
const base = `
spec:
  restartPolicy: Always
  initContainers:
  - {name: setup, image: a}
  - {name: side, image: b, restartPolicy: Always, startupProbe: {}}
  containers:
  - {name: web, image: c, livenessProbe: {}, resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}}}
status:
  sandboxes: [{id: s0, state: READY, attempt: 0, network: POD, ip: 10.0.0.1}]
  containers:
  - {name: setup, id: "sim://1", state: exited, exitCode: 0, reason: Completed}
  - {name: side, id: "sim://2", state: running, exitCode: 0, startup: Success}
  - {name: web, id: "sim://3", state: running, exitCode: 0, liveness: Success}
actuated:
  containers:
    web: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 64Mi}}
    side: {}
    setup: {}
`

func inputs(t *testing.T, text string) *whatif.Inputs {
	t.Helper()
	var in whatif.Inputs
	if err := yaml.UnmarshalStrict([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	return &in
}

// short returns a plan in one line.
func short(p *whatif.Plan) string {
	var out []string
	add := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(p.KillPod, "kill pod")
	add(p.CreateSandbox, "create sandbox %d", p.Attempt)
	for _, c := range p.EphemeralToStart {
		add(true, "start ephemeral %d %s", c.Index, c.Name)
	}
	for _, c := range p.InitToStart {
		add(true, "start init %d %s", c.Index, c.Name)
	}
	for _, c := range p.ToStart {
		add(true, "start %d %s", c.Index, c.Name)
	}
	for _, k := range p.ToKill {
		add(true, "kill %s %q %s", k.ID, k.Message, k.Reason)
	}
	for _, u := range p.ToUpdate {
		add(true, "resize %s of %s %v", u.Resource, u.Name, u.Desired)
	}
	for _, r := range p.ToReset {
		add(true, "reset %s kill=%v", r.ID, r.Kill)
	}
	add(p.UpdatePodResources, "update pod resources")
	add(p.UpdatePodLevelResources, "update pod level resources")
	return strings.Join(out, "; ")
}

func TestPlans(t *testing.T) {
	for name, test := range map[string]struct {
		set  []string
		want string
	}{
		"nothing to do":                 {nil, ""},
		"no sandbox":                    {[]string{"status="}, `kill pod; create sandbox 0; start init 0 setup`},
		"sandbox died":                  {[]string{"status.sandboxes[0].state=NOTREADY"}, `kill pod; create sandbox 1; start init 0 setup`},
		"sandbox died, never restarts":  {[]string{"status.sandboxes[0].state=NOTREADY", "status.sandboxes[0].attempt=4", "spec.restartPolicy=Never"}, `kill pod`},
		"sandbox without an address":    {[]string{"status.sandboxes[0].ip="}, `kill pod; create sandbox 1; start init 0 setup`},
		"another network":               {[]string{"spec.hostNetwork=true"}, `kill pod; create sandbox 1; start init 0 setup`},
		"app ended":                     {[]string{"status.containers[web].state=exited", "status.containers[web].exitCode=1"}, `start 0 web`},
		"app ended, is being deleted":   {[]string{"status.containers[web].state=exited", "metadata.deletionTimestamp=2026-01-01T00:00:00Z"}, `kill pod`},
		"app ended well, on failure":    {[]string{"status.containers[web].state=exited", "spec.restartPolicy=OnFailure"}, `kill pod`},
		"app failed, on failure":        {[]string{"status.containers[web].state=exited", "status.containers[web].exitCode=3", "spec.restartPolicy=OnFailure"}, `start 0 web`},
		"app of unknown state":          {[]string{"status.containers[web].state=unknown"}, `start 0 web; kill sim://3 "Container is in \"unknown\" state, try killing it before restart" Unknown`},
		"liveness":                      {[]string{"status.containers[web].liveness=Failure"}, `start 0 web; kill sim://3 "Container web failed liveness probe, will be restarted" LivenessProbe`},
		"liveness, never":               {[]string{"status.containers[web].liveness=Failure", "spec.restartPolicy=Never"}, `kill pod; kill sim://3 "Container web failed liveness probe" LivenessProbe`},
		"startup":                       {[]string{"status.containers[web].startup=Failure"}, `start 0 web; kill sim://3 "Container web failed startup probe, will be restarted" StartupProbe`},
		"another image":                 {[]string{"spec.containers[web].image=c2"}, `start 0 web; kill sim://3 "Container web definition changed, will be restarted" `},
		"other definition when created": {[]string{"status.containers[web].changed=true"}, `start 0 web; kill sim://3 "Container web definition changed, will be restarted" `},
		"init failed, never":            {[]string{"status.containers[web]-", "status.containers[side]-", "status.containers[setup].exitCode=1", "spec.restartPolicy=Never"}, `kill pod`},
		"init failed":                   {[]string{"status.containers[web]-", "status.containers[side]-", "status.containers[setup].exitCode=1"}, `start init 0 setup`},
		"init out of memory":            {[]string{"status.containers[web]-", "status.containers[side]-", "status.containers[setup].reason=OOMKilled"}, `start init 0 setup`},
		"sidecar is next":               {[]string{"status.containers[web]-", "status.containers[side]-"}, `start init 1 side`},
		"sidecar starts":                {[]string{"status.containers[web]-", "status.containers[side].startup-"}, ``},
		"sidecar has started":           {[]string{"status.containers[web]-"}, `start 0 web`},
		"sidecar died":                  {[]string{"status.containers[side].state=exited"}, `start init 1 side`},
		"ephemeral":                     {[]string{`spec.ephemeralContainers=[{"name":"debug","image":"d"}]`}, `start ephemeral 0 debug`},
		"resize":                        {[]string{"spec.containers[web].resources.requests.cpu=200m"}, `resize cpu of web {67108864 67108864 0 200}`},
		"resize with restart":           {[]string{"spec.containers[web].resources.limits.memory=128Mi", `spec.containers[web].resizePolicy=[{"resourceName":"memory","restartPolicy":"RestartContainer"}]`}, `start 0 web; kill sim://3 "Container web resize requires restart" ; update pod resources`},
		"restart all":                   {[]string{"restartAllContainers=true"}, `reset sim://3 kill=true; reset sim://1 kill=false; reset sim://2 kill=true`},
		"rule of a container":           {[]string{"status.containers[web].state=exited", "status.containers[web].exitCode=42", "spec.restartPolicy=Never", `spec.containers[web].restartPolicyRules=[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]`, "spec.containers[web].restartPolicy=Never"}, `start 0 web`},
		"the same without the gate":     {[]string{"gates.ContainerRestartRules=false", "gates.RestartAllContainersOnContainerExits=false", "status.containers[web].state=exited", "status.containers[web].exitCode=42", "spec.restartPolicy=Never", `spec.containers[web].restartPolicyRules=[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]`, "spec.containers[web].restartPolicy=Never"}, `kill pod`},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, base)
			p, err := NewPlanner(in)
			if err != nil {
				t.Fatal(err)
			}
			changes, err := whatif.ParseChanges(test.set)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				if err := c.Apply(in); err != nil {
					t.Fatal(err)
				}
			}
			plan, err := p.Plan(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := short(plan); got != test.want {
				t.Errorf("plan:\n%s\nwant:\n%s\nthe kubelet says: %v", got, test.want, plan.Messages)
			}
		})
	}
}
