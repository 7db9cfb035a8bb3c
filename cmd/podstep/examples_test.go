package main

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestAttachExamples: podstep takes the commands in docs/examples/attach.
func TestAttachExamples(t *testing.T) {
	unit, err := os.ReadFile("../../docs/examples/attach/podstep.service")
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for line := range strings.Lines(string(unit)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.HasPrefix(name, "Exec") {
			commands = append(commands, strings.Fields(value))
		}
	}
	text, err := os.ReadFile("../../docs/examples/attach/pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		t.Fatal(err)
	}
	commands = append(commands, pod.Spec.Containers[0].Command)
	text, err = os.ReadFile("../../docs/examples/attach/daemonset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var set appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(text, &set); err != nil {
		t.Fatal(err)
	}
	container := set.Spec.Template.Spec.Containers[0]
	commands = append(commands, append(container.Command, container.Args...))
	if len(commands) != 4 {
		t.Fatalf("there are %v", commands)
	}
	for _, c := range commands {
		cmd, args, err := (&app{where: &where{}}).root().Find(c[1:])
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err != nil || cmd.Name() != c[1] {
			t.Errorf("%v: %v", c, err)
		}
	}
}
