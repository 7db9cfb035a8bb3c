// Command shown is a program that has secrets wherever a kubelet has them. Its first argument is the secret.
package main

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var (
	secret = os.Args[1]
	alone  = &secret
	raw    = []byte(secret)
	runes  = []rune(secret)
	array  [8]byte
	words      = []string{"run", secret}
	table      = map[string]string{"user": secret, secret: "value"}
	files      = map[string][]byte{secret: []byte(secret)}
	any1   any = secret
	any2   any = []any{secret, 7}
	reader     = strings.NewReader(secret)
	build  strings.Builder
	header = http.Header{"Authorization": {secret}}
	number = new(big.Int).SetBytes([]byte(secret[:8]))
	key    = ecdsa.PrivateKey{D: number}
	failed = fmt.Errorf("pull the image: %w", errors.New("https://robot:"+secret+"@registry.example/app refused"))
	long   = errors.New(strings.Repeat("pull it ", 23) + "from https://robot:" + secret + "@registry.example/app")
	run    = exec.Command("/bin/true", secret)
	config = rest.Config{Host: "api.example", BearerToken: secret, Username: secret, Password: secret, TLSClientConfig: rest.TLSClientConfig{KeyData: []byte(secret)}}
	login  = &runtimeapi.AuthConfig{Username: secret, Password: secret, Auth: secret, IdentityToken: secret, RegistryToken: secret}
	create = &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, Envs: []*runtimeapi.KeyValue{{Key: "PASSWORD", Value: []byte(secret)}}, Command: []string{"run", secret}, Args: []string{secret}, Labels: map[string]string{"team": "blue"}}
	vault  = &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vault"}, Data: map[string][]byte{"k": []byte(secret)}, StringData: map[string]string{"k": secret}, Type: v1.SecretTypeOpaque}
	plain  = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Data: map[string]string{"k": secret}, BinaryData: map[string][]byte{"k": []byte(secret)}}
	pod    = &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u-1", Labels: map[string]string{"app": "web", "token": secret}, Annotations: map[string]string{"example.com/note": secret}},
		Spec: v1.PodSpec{
			NodeName: "node-1",
			Containers: []v1.Container{{
				Name: "app", Image: "nginx:1.27", Command: []string{"run", secret}, Args: []string{secret},
				Env:           []v1.EnvVar{{Name: "DB", Value: secret}},
				Ports:         []v1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/" + secret, Port: intstr.FromInt(8080), HTTPHeaders: []v1.HTTPHeader{{Name: "X", Value: secret}}}}},
				Lifecycle:     &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", secret}}}},
			}},
			Volumes: []v1.Volume{
				{Name: "csi", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "driver", VolumeAttributes: map[string]string{"a": secret}}}},
				{Name: "flex", VolumeSource: v1.VolumeSource{FlexVolume: &v1.FlexVolumeSource{Driver: "driver", Options: map[string]string{"a": secret}}}},
				{Name: "git", VolumeSource: v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{Repository: "https://robot:" + secret + "@git.example/it"}}},
			},
			HostAliases:     []v1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{secret}}},
			SecurityContext: &v1.PodSecurityContext{Sysctls: []v1.Sysctl{{Name: "kernel.it", Value: secret}}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "app", LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 3, Message: secret}}}}},
	}
)

func main() {
	copy(array[:], secret)
	build.WriteString(secret)
	fmt.Println("ready", len(words), len(raw), len(runes), len(array), len(table), len(files), any1 != nil, any2 != nil, reader.Len(), build.Len(), len(header), number.Sign(), key.D.Sign(), failed != nil,
		long != nil, run.Path, config.Host, login != nil, create != nil, vault.Name, plain.Name, pod.Name, *alone == secret)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
