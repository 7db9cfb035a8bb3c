package whatif

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const running = `
spec:
  restartPolicy: Always
  containers:
  - {name: web, image: nginx, resources: {limits: {memory: 64Mi}}}
  - {name: log, image: fluent}
  ephemeralContainers:
  - {name: debug, image: busybox}
status:
  sandboxes: [{id: s, state: READY, attempt: 2, network: POD, ip: 10.0.0.1}]
  containers:
  - {name: web, id: "x://1", state: running, exitCode: 0}
  - {name: log, id: "x://2", state: exited, exitCode: 1}
actuated:
  containers: {web: {limits: {memory: 64Mi}}}
gates: {ContainerRestartRules: true}
`

func parsed(t testing.TB, text string) *Inputs {
	t.Helper()
	var in Inputs
	if err := yaml.UnmarshalStrict([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	return &in
}

func TestChange(t *testing.T) {
	for text, want := range map[string]string{
		"spec.restartPolicy=Never":                                   `"Never"`,
		"status.containers[0].exitCode=137":                          `137`,
		"status.containers[log].state=running":                       `"running"`,
		"status.containers[log].reason=OOM Killed = yes":             `"OOM Killed = yes"`,
		`status.containers[log].reason="quoted"`:                     `"quoted"`,
		"status.sandboxes[0].ip=":                                    `""`,
		"status.sandboxes[0].ip-":                                    ``,
		"status.sandboxes=":                                          `null`,
		"status.sandboxes[0].attempt=4294967295":                     `4294967295`,
		"spec.containers[web].resources.limits.memory=1Gi":           `"1Gi"`,
		"spec.containers[web].resources.limits.cpu=2":                `"2"`,
		"spec.containers[web].resources.limits.memory-":              ``,
		"spec.containers[web].livenessProbe={}":                      `{}`,
		"spec.ephemeralContainers[debug].image=alpine":               `"alpine"`,
		"spec.ephemeralContainers[0]-":                               ``,
		`spec.containers[new]={"image":"x"}`:                         `{"name":"new","image":"x","resources":{}}`,
		`status.containers[2]={"name":"a","state":"created"}`:        `{"name":"a","state":"created","exitCode":0}`,
		"actuated.containers.web.limits.memory=1Mi":                  `"1Mi"`,
		"actuated.containers[web].requests.cpu=1":                    `"1"`,
		"actuated.containers.web-":                                   ``,
		"metadata.deletionTimestamp=2026-01-01T00:00:00Z":            `"2026-01-01T00:00:00Z"`,
		"gates.ContainerRestartRules=false":                          `false`,
		"restartAllContainers=true":                                  `true`,
		"spec.containers[web].restartPolicy=OnFailure":               `"OnFailure"`,
		`spec.containers[log].resizePolicy=[{"resourceName":"cpu"}]`: `[{"resourceName":"cpu","restartPolicy":""}]`,
	} {
		in := parsed(t, running)
		c, err := ParseChange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		made, err := c.make(in)
		if err != nil || made.To != want {
			t.Errorf("%s: made %s, want %s; %v", text, made.To, want, err)
		}
		if c.String() != text {
			t.Errorf("%q is written as %q", text, c.String())
		}
	}
}

func TestBadChange(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                  "changes nothing",
		"spec.restartPolicy":                                "write PATH=VALUE",
		"=x":                                                "the path is empty",
		"spec..restartPolicy=x":                             "a part without a name",
		"spec.containers[0=x":                               "a [ without ]",
		"spec.containers[0]image=x":                         "no point before",
		"spec.containers[]=x":                               "a part without a name",
		"spec.restartpolicy=Never":                          "did you mean restartPolicy?",
		"status.containers[0].exit=1":                       "it has changed, exitCode",
		"status.containers.web.exitCode=1":                  "write status.containers[0]",
		"status.containers[wbe].exitCode=1":                 "has no such element; it has web, log",
		"status.containers[2].exitCode=1":                   "has no such element",
		"status.containers[7]={}":                           "none at [7]",
		"status.containers[wbe]-":                           "has no such element",
		"status.containers[0].exitCode=one":                 "is no value for it",
		"status.containers[0].exitCode=":                    "it has no value",
		"status.containers[0].exitCode=1 2":                 "more than one value",
		"status.sandboxes[a].state=READY":                   "elements without names",
		"spec.containers[web]={\"nam\":1}":                  "unknown field",
		"spec.restartPolicy.x=1":                            "has no members",
		"spec[0]=1":                                         "is no list",
		"actuated.containers.other-":                        "is not there",
		"metadata.deletionTimestamp.x-":                     "is not there",
		"spec.containers[web].resources.limits.memory=lots": "is no value for it",
		strings.Repeat("a.", 40) + "=1":                     "more than 32 parts",
	} {
		c, err := ParseChange(text)
		if err == nil {
			err = c.Apply(parsed(t, running))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"spec.restartPolicy=Sometimes":            "it can be Always, OnFailure or Never",
		"spec.containers=[]":                      "at least one container",
		"spec.containers[web].restartPolicy=x":    `spec.containers[0].restartPolicy is "x"`,
		"status.sandboxes[0].state=ready":         "it can be READY or NOTREADY",
		"status.sandboxes[0].network=host":        `network is "host"`,
		"status.containers[web].state=terminated": "created, running, exited or unknown",
		"status.containers[web].liveness=failed":  "nothing, Success, Failure or Unknown",
	} {
		in := parsed(t, running)
		c, err := ParseChange(text)
		if err == nil {
			err = c.Apply(in)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	if err := parsed(t, running).Check(); err != nil {
		t.Error(err)
	}
}

// No change panics, and one that can be made can be made once more from its text, with the same result.
func FuzzChange(f *testing.F) {
	for _, text := range []string{
		"spec.restartPolicy=Never", "status.containers[0].exitCode=1", "status.containers[web]-", `spec.containers[x]={"image":"a"}`,
		"status.sandboxes[0].ip-", "actuated.containers.web.limits.cpu=1", "gates.X=true", "spec.ephemeralContainers[debug].name=", "spec.containers[99]={}",
		"metadata.deletionTimestamp=2026-01-01T00:00:00Z", "spec=", "status={}", "spec.volumes[0].name=x", "spec.securityContext.sysctls=[]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseChange(text)
		if err != nil {
			return
		}
		first, second := parsed(t, running), parsed(t, running)
		again, err := ParseChange(c.String())
		if err != nil || again != c {
			t.Fatalf("%q is written as %q, which is read as %v, %v", text, c, again, err)
		}
		if err := c.Apply(first); err != nil {
			return
		}
		if err := again.Apply(second); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		x, err := json.Marshal(first)
		if err != nil {
			return // such as a time after the year 9999
		}
		y, err := json.Marshal(second)
		if err != nil || string(x) != string(y) {
			t.Fatalf("%q makes %s, and then %s; %v", text, x, y, err)
		}
		_ = first.Check()
	})
}
