package far

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// role is a role of the chart, or of docs/kubectl.md: a ClusterRole if namespace is empty.
type role struct{ name, namespace string }

// findRole lets a user find a pod's node, and the pods of podstep.
var findRole = role{name: "podstep-find"}

// roleIn returns the role in a namespace that is called like the ServiceAccount whose tokens it gives.
func roleIn(namespace, account string) role { return role{account, namespace} }

// explain adds to an error that is a refusal of the API server which command grants the right.
func (c *Cluster) explain(ctx context.Context, err error, r role) error {
	if !apierrors.IsForbidden(err) && !kubeapi.IsCode(err, http.StatusForbidden) {
		return err
	}
	name, _ := c.Self(ctx) // without it, the command has NAME
	return fmt.Errorf("%w; this command of an administrator grants it: %s", err, grant(r, name))
}

// plainWord matches what a shell takes as it is, and notInNames what the name of a binding may not have.
var (
	plainWord  = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
	notInNames = regexp.MustCompile(`[^a-z0-9.]+`)
)

// grant returns the command by which an administrator gives a role to a user. A user's name may have any characters, and
// people paste the command into a shell.
func grant(r role, user string) string {
	user = words.OneLine(cmp.Or(user, "NAME"))
	binding := strings.Trim(r.name+"-"+notInNames.ReplaceAllString(strings.ToLower(user), "-"), "-.")
	if !plainWord.MatchString(user) {
		user = "'" + strings.ReplaceAll(user, "'", `'\''`) + "'"
	}
	if r.namespace == "" {
		return fmt.Sprintf("kubectl create clusterrolebinding %s --clusterrole=%s --user=%s", binding, r.name, user)
	}
	return fmt.Sprintf("kubectl create rolebinding %s -n %s --role=%s --user=%s", binding, r.namespace, r.name, user)
}
