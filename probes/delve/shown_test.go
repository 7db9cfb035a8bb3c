//go:build linux && amd64

package delve

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/podstep/podstep/agent/canary"
)

// secretive starts a program that has a secret wherever a kubelet has one, and attaches Delve to it.
func secretive(t *testing.T, secret string) *target {
	t.Helper()
	target, _ := attachBuilt(t, secret)
	return target
}

// attachBuilt builds that program with flags of go build, starts it, and attaches Delve to it. The program reads what is written.
func attachBuilt(t *testing.T, secret string, flags ...string) (*target, io.Writer) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "shown")
	if out, err := exec.Command("go", slices.Concat([]string{"build", "-o", program}, flags, []string{"./testdata/shown"})...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	cmd := exec.Command(program, secret)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	target, err := attach(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.call("Detach", rpc2.DetachIn{}, &rpc2.DetachOut{}); err != nil {
			t.Error(err)
		}
	})
	return target, stdin
}

// evaluated returns what is shown of an expression.
func evaluated(target *target, text string) (string, error) {
	scope := api.EvalScope{GoroutineID: -1}
	e := &expression{text: text, names: []string{"listed"}, eval: func(part string) (*api.Variable, error) { return target.eval(scope, part) }}
	v, h, err := e.read()
	if err != nil {
		return "", err
	}
	one := variable(v, h)
	return one.Type + " " + one.Value, nil
}

// TestShown looks at a program's variables through a real Delve.
func TestShown(t *testing.T) {
	set := canary.NewSet()
	target := secretive(t, set.Value("secret"))
	t.Run("secrets", func(t *testing.T) { haveNoSecrets(t, target, set) })
	t.Run("operations", func(t *testing.T) { nothingIsWorkedOut(t, target) })
	t.Run("names", func(t *testing.T) { areUseful(t, target) })
}

// haveNoSecrets: Delve's values show no secret, in whatever type or structure it is, and by whatever
// expression a person asks for it.
func haveNoSecrets(t *testing.T, target *target, set *canary.Set) {
	secret := set.Value("secret")
	var asked []string
	for _, name := range strings.Fields("secret alone raw runes array words table files any1 any2 reader build header number key failed long run config login create vault plain pod") {
		asked = append(asked, "main."+name, "*main."+name, "&main."+name)
	}
	asked = append(asked, strings.Fields(`
		main.secret[0] main.secret[0:4] main.raw[0] main.raw[0:3] main.runes[0] main.runes[:2] main.array[0] main.words[1] main.words[1][0] main.words[1:]
		main.table["user"] main.files["k"] main.any1.(string) main.any1.(data) main.any2.(data)[0] main.reader.s main.reader.s[2] main.build.buf main.build.buf[0]
		main.header["Authorization"][0] main.number.abs main.number.abs[0] main.key.D main.key.D.abs[0] main.run.Args main.run.Args[1]
		main.config.BearerToken main.config.Password main.config.TLSClientConfig main.config.TLSClientConfig.KeyData main.config.TLSClientConfig.KeyData[0] main.config.KeyData
		main.login.Password main.login.Auth[0] main.create.Envs main.create.Envs[0] main.create.Envs[0].Value main.create.Envs[0].Value[0] main.create.Command main.create.Command[1] main.create.Args
		main.vault.Data main.vault.Data["k"] main.vault.Data["k"][0] main.vault.StringData main.vault.StringData["k"] main.plain.Data main.plain.Data["k"] main.plain.BinaryData["k"]
		main.pod.Spec main.pod.Spec.Containers main.pod.Spec.Containers[0] main.pod.Spec.Containers[0].Command main.pod.Spec.Containers[0].Command[1] main.pod.Spec.Containers[0].Args[0]
		main.pod.Spec.Containers[0].Env main.pod.Spec.Containers[0].Env[0] main.pod.Spec.Containers[0].Env[0].Value main.pod.Spec.Containers[0].Env[0].Value[1:9] *&main.pod.Spec.Containers[0].Env[0].Value
		(main.pod.Spec.Containers[0]).Env[0:1] main.pod.Spec.Containers[0].LivenessProbe main.pod.Spec.Containers[0].LivenessProbe.HTTPGet.Path main.pod.Spec.Containers[0].LivenessProbe.HTTPGet.HTTPHeaders
		main.pod.Spec.Containers[0].Lifecycle.PreStop.Exec main.pod.Spec.Containers[0].Lifecycle.PreStop.Exec.Command main.pod.Spec.Containers[0].Lifecycle.PreStop.Exec.Command[2]
		main.pod.Spec.Volumes main.pod.Spec.Volumes[0].CSI main.pod.Spec.Volumes[0].CSI.VolumeAttributes main.pod.Spec.Volumes[0].CSI.VolumeAttributes["a"] main.pod.Spec.Volumes[1].FlexVolume
		main.pod.Spec.Volumes[1].FlexVolume.Options["a"] main.pod.Spec.Volumes[2].GitRepo main.pod.Spec.Volumes[2].GitRepo.Repository main.pod.Spec.HostAliases main.pod.Spec.HostAliases[0].Hostnames[0]
		main.pod.Spec.SecurityContext.Sysctls main.pod.Spec.SecurityContext.Sysctls[0].Value main.pod.Labels main.pod.Labels["token"] main.pod.ObjectMeta.Labels["token"] main.pod.Annotations
		main.pod.Annotations["example.com/note"] main.pod.Status.ContainerStatuses[0] main.pod.Status.ContainerStatuses[0].LastTerminationState.Terminated main.pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message
	`)...)
	letters := fmt.Sprintf("uint8 %d", secret[0])
	for _, text := range asked {
		out, err := evaluated(target, text)
		if found := set.FindString(out + fmt.Sprint(err)); found != nil {
			t.Errorf("%s shows %v", text, found)
		}
		if out == letters || strings.Contains(out, fmt.Sprint([]byte(secret)[0:3])) || strings.Contains(out, fmt.Sprintf("[%d,%d,", secret[0], secret[1])) {
			t.Errorf("%s shows letters: %s", text, out)
		}
		if i := strings.LastIndexByte(text, '['); strings.HasSuffix(text, "[0]") && strings.Contains(out, "int") && i > 0 && !strings.Contains(out, "<redacted>") {
			t.Errorf("%s shows a number of a text: %s", text, out)
		}
	}
}

// nothingIsWorkedOut: no operation says something about a value that is not shown, and nothing reads memory as
// another type.
func nothingIsWorkedOut(t *testing.T, target *target) {
	const value = `main.pod.Spec.Containers[0].Env[0].Value`
	for _, text := range []string{
		value + ` == "a"`, value + ` > "m"`, value + `[0] == 113`, value + `[0] + 1`, `"a" + ` + value, `-main.raw[0]`, `string(main.raw)`, `[]byte(main.secret)`, `int(main.raw[0])`,
		`*(*int)(0xc000000000)`, `*(*uint64)(&main.secret)`, `uintptr(&main.secret)`, `main.words[main.raw[0]]`, `main.pod.Spec.Containers[0].Env[0] == main.pod.Spec.Containers[0].Env[0]`,
		`main.table["a" + main.secret]`, `main.any1 == main.any1`, `main.vault.Data["k"][0] > 1 && true`, `runtime.frame(1).x`, `main.secret < "m" || true`, `min(main.raw[0], 1)`, `!(main.secret == "")`,
		strings.Repeat("(", 2000) + "main.pod",
	} {
		if out, err := evaluated(target, text); err == nil {
			t.Errorf("%.60s is %s", text, out)
		}
	}
	if out, err := evaluated(target, "RAX"); err == nil && !strings.HasSuffix(out, "<redacted>") {
		t.Errorf("a register is %s", out)
	}
}

// areUseful: names, numbers, images, phases and the texts of errors are shown.
func areUseful(t *testing.T, target *target) {
	for text, want := range map[string]string{
		`main.pod.Name`: `"web"`, `main.pod.ObjectMeta.Namespace`: `"default"`, `main.pod.UID`: `"u-1"`, `main.pod.Spec.NodeName`: `"node-1"`, `main.pod.Status.Phase`: `"Running"`,
		`main.pod.Spec.Containers`: `Name: "app", Image: "nginx:1.27"`, `main.pod.Spec.Containers[0].Image`: `"nginx:1.27"`, `main.pod.Spec.Containers[0].Env[0]`: `Name: "DB", Value: <redacted>`,
		`main.pod.Spec.Containers[0].Command`: `[]string len: 2, cap: 2, <redacted>`, `main.raw`: `[]uint8 len: 25`, `main.pod.Labels`: `"app": "web"`, `main.pod.Labels["app"]`: `"web"`,
		`main.pod.Spec.Containers[0].Ports[0].ContainerPort`: "8080", `len(main.pod.Spec.Containers)`: "1", `main.pod.Name == "web"`: "true", `main.pod == nil`: "false", `len(main.raw)`: "25",
		`main.pod.Spec.Containers[0].Ports[0].ContainerPort + 1`: "8081", `main.failed`: `msg: "pull the image: https://<redacted>@registry.example/app refused"`, `main.long`: `pull it from…"...+`,
		`main.vault`: `Name: "vault"`, `main.vault.Type`: `"Opaque"`, `main.create.Metadata.Name`: `"app"`, `main.create.Labels["team"]`: `"blue"`, `main.create.Envs[0].Key`: `"PASSWORD"`,
		`main.pod.Spec.Volumes[2].GitRepo.Repository`: `"https://<redacted>@git.example/it"`, `main.pod.Status.ContainerStatuses[0].LastTerminationState.Terminated`: "ExitCode: 3",
	} {
		if out, err := evaluated(target, text); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s is %s, %v, and has no %s", text, out, err, want)
		}
	}
}
