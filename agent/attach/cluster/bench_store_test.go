//go:build bench

package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/podstep/podstep/agent/labtest"
)

// store writes objects straight into the etcd of a lab, in the form of its API server. A hundred thousand objects
// take seconds.
type store struct {
	t       *testing.T
	url     string
	client  *http.Client
	encoder runtime.Encoder

	// The templates of the other objects: a pod and its events.
	pod    v1.Pod
	events []v1.Event

	waiting []any // operations of the next transaction
}

// maxOperations is how many operations etcd accepts in one transaction.
const maxOperations = 128

func newStore(t *testing.T, node *labtest.Lab) *store {
	pki := func(name string) string { return filepath.Join(node.Dir, "pki", name) }
	cert, err := tls.LoadX509KeyPair(pki("apiserver-etcd.crt"), pki("apiserver-etcd.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(pki("etcd-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("nothing encodes objects as the API server does")
	}
	return &store{
		t: t, url: fmt.Sprintf("https://127.0.0.1:%d/v3/kv/txn", node.State.Ports["etcd"]), client: &http.Client{Transport: transport},
		encoder: scheme.Codecs.EncoderForVersion(info.Serializer, v1.SchemeGroupVersion),
	}
}

func (s *store) put(key string, object runtime.Object) {
	value, err := runtime.Encode(s.encoder, object)
	if err != nil {
		s.t.Fatal(err)
	}
	s.waiting = append(s.waiting, map[string]any{"requestPut": map[string][]byte{"key": []byte("/registry/" + key), "value": value}})
	if len(s.waiting) == maxOperations {
		s.flush()
	}
}

// flush writes the waiting operations.
func (s *store) flush() {
	if len(s.waiting) == 0 {
		return
	}
	body, err := json.Marshal(map[string]any{"success": s.waiting})
	if err != nil {
		s.t.Fatal(err)
	}
	s.waiting = s.waiting[:0]
	answer, err := s.client.Post(s.url, "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		s.t.Fatalf("write into etcd: %s: %s", answer.Status, text)
	}
}

func (s *store) putNode(node int) {
	name := nodeName(node)
	s.put("minions/"+name, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uuid.NewUUID(), CreationTimestamp: metav1.Now()}})
}

func nodeName(node int) string { return fmt.Sprintf("other-%d", node) }

// podName returns a name like that of a ReplicaSet's pod. Like all else that differs between objects, it does not
// compress well.
func podName(node, i int) string {
	r := rand.New(rand.NewPCG(uint64(node), uint64(i)))
	return fmt.Sprintf("app-%d-%010x-%05x", i, r.Uint64()>>24, r.Uint32()>>12)
}

func (s *store) putPod(node, i int) {
	p := s.pod.DeepCopy()
	p.Namespace, p.Name, p.UID, p.ResourceVersion = namespaceOf(node, i), podName(node, i), uuid.NewUUID(), ""
	p.Spec.NodeName = nodeName(node)
	s.put("pods/"+p.Namespace+"/"+p.Name, p)
}

// putEvent writes the k-th event of a pod, at some time in an hour.
func (s *store) putEvent(node, i, k int) {
	e := s.events[k%len(s.events)].DeepCopy()
	at := metav1.NewTime(time.Now().Add(-rand.N(time.Hour)))
	e.Namespace, e.Name, e.ResourceVersion = namespaceOf(node, i), fmt.Sprintf("%s.%016x", podName(node, i), rand.Uint64()), ""
	e.UID, e.CreationTimestamp, e.FirstTimestamp, e.LastTimestamp = uuid.NewUUID(), at, at, at
	for i := range e.ManagedFields {
		e.ManagedFields[i].Time = &at
	}
	o := &e.InvolvedObject
	o.Namespace, o.Name, o.UID, o.ResourceVersion = e.Namespace, podName(node, i), uuid.NewUUID(), strconv.Itoa(rand.IntN(1e9))
	e.Source.Host, e.ReportingInstance = nodeName(node), nodeName(node)
	s.put("events/"+e.Namespace+"/"+e.Name, e)
}
