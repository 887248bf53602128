{{- /* Checks for contradictory values, which the schema could not report in an understandable way. The first failed check ends rendering. */ -}}
{{- define "parley.checks" -}}
{{- $v := .Values -}}
{{- if and $v.redis.url $v.redis.existingSecret.name -}}
{{- fail "redis.url and redis.existingSecret.name are both set: use only one of them." -}}
{{- end -}}
{{- if and (hasPrefix "redis" $v.redis.url) (contains "-cluster://" $v.redis.url) (gt (int (default 0 $v.config.PARLEY_REDIS_REPLICAS)) 0) -}}
{{- fail "config.PARLEY_REDIS_REPLICAS does not work with a Redis Cluster: remove it, or use Sentinel (docs/redis.md)." -}}
{{- end -}}
{{- if eq (int $v.ports.http) (int $v.ports.operator) -}}
{{- fail (printf "ports.http and ports.operator are both %d: the operator's port must not be reachable by clients, so choose another one." (int $v.ports.http)) -}}
{{- end -}}
{{- range $role := list "server" "worker" -}}
{{- $values := index $v $role -}}
{{- $context := dict "root" $ "role" $role -}}
{{- $switch := ternary "server.autoscaling.enabled is true" (printf "worker.autoscaling.type is %s" $v.worker.autoscaling.type) (eq $role "server") -}}
{{- if include "parley.scaled" $context -}}
{{- if not (kindIs "invalid" $values.replicas) -}}
{{- fail (printf "%s.replicas is %d and %s: a fixed number and an autoscaler contradict each other. Remove one." $role (int $values.replicas) $switch) -}}
{{- end -}}
{{- if gt (int $values.autoscaling.min) (int $values.autoscaling.max) -}}
{{- fail (printf "%s.autoscaling.min (%d) is greater than %s.autoscaling.max (%d)." $role (int $values.autoscaling.min) $role (int $values.autoscaling.max)) -}}
{{- end -}}
{{- end -}}
{{- if and $values.disruptionBudget.enabled $values.disruptionBudget.minAvailable $values.disruptionBudget.maxUnavailable -}}
{{- fail (printf "%s.disruptionBudget has both minAvailable and maxUnavailable: set one of them to null." $role) -}}
{{- end -}}
{{- if and $values.disruptionBudget.enabled (not $values.disruptionBudget.minAvailable) (not $values.disruptionBudget.maxUnavailable) -}}
{{- fail (printf "%s.disruptionBudget has neither minAvailable nor maxUnavailable: set one of them, or enabled to false." $role) -}}
{{- end -}}
{{- range $label := list "name" "instance" "component" -}}
{{- if hasKey $values.podLabels (printf "app.kubernetes.io/%s" $label) -}}
{{- fail (printf "%s.podLabels sets app.kubernetes.io/%s, by which the chart selects its pods: use another label." $role $label) -}}
{{- end -}}
{{- end -}}
{{- $names := list "REDIS_URL" "PARLEY_PORT" "PARLEY_METRICS_PORT" "PARLEY_SECRET" -}}
{{- range concat $v.extraEnv $values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv or %s.extraEnv sets %s, which is already set (use redis for REDIS_URL, seal for PARLEY_SECRET, ports for ports)." $role .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $drain := int (include "parley.drainSeconds" $context) -}}
{{- with $values.terminationGracePeriodSeconds -}}
{{- if lt (int .) (add $drain 10 | int) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d, but draining takes up to %d s: Kubernetes would kill the pod before it finishes. Set at least %d, or null." $role (int .) $drain (add $drain 10)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.server.autoscaling.enabled (not (dig "requests" "cpu" "" $v.server.resources)) -}}
{{- fail "server.autoscaling needs server.resources.requests.cpu, since it scales by a percentage of it." -}}
{{- end -}}
{{- if ne $v.worker.autoscaling.type "none" -}}
{{- $concurrency := int (default 50 $v.config.PARLEY_CONCURRENCY) -}}
{{- if gt (int $v.worker.autoscaling.runsPerWorker) $concurrency -}}
{{- fail (printf "worker.autoscaling.runsPerWorker is %d, but a worker takes only %d runs at once (PARLEY_CONCURRENCY): workers would be full before another one starts." (int $v.worker.autoscaling.runsPerWorker) $concurrency) -}}
{{- end -}}
{{- end -}}
{{- if $v.httpRoute.enabled -}}
{{- if not $v.httpRoute.parentRefs -}}{{- fail "httpRoute.parentRefs is empty: name the Gateway that the route attaches to." -}}{{- end -}}
{{- if not $v.httpRoute.hostnames -}}{{- fail "httpRoute.hostnames is empty: name the hosts that clients call. Parley serves only these." -}}{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: name the hosts that clients call. Parley serves only these." -}}
{{- end -}}
{{- include "parley.secretsExist" . -}}
{{- end -}}

{{- /* Checks that existing Secrets exist, if there is a cluster to ask (an install, not `helm template`). Pods would wait for a missing one without a clear reason. */ -}}
{{- define "parley.secretsExist" -}}
{{- $namespace := .Release.Namespace -}}
{{- if lookup "v1" "ConfigMap" $namespace "kube-root-ca.crt" -}}
{{- $needed := list -}}
{{- if not .Values.redis.url -}}
{{- $needed = append $needed (list (include "parley.redisSecret" .) .Values.redis.existingSecret.key "REDIS_URL") -}}
{{- end -}}
{{- with .Values.seal.existingSecret -}}{{- if .name -}}{{- $needed = append $needed (list .name .key "PARLEY_SECRET") -}}{{- end -}}{{- end -}}
{{- range $needed -}}
{{- $name := index . 0 -}}{{- $key := index . 1 -}}{{- $setting := index . 2 -}}
{{- $secret := lookup "v1" "Secret" $namespace $name -}}
{{- if not $secret -}}
{{- fail (printf "there is no Secret %s in namespace %s, which should hold the %s: kubectl -n %s create secret generic %s --from-literal=%s=…" $name $namespace $setting $namespace $name $key) -}}
{{- end -}}
{{- if not (hasKey (default dict $secret.data) $key) -}}
{{- fail (printf "the Secret %s in namespace %s has no key %q, which should hold the %s." $name $namespace $key $setting) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
