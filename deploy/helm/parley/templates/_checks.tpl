{{- /* What the schema cannot say in a sentence that one understands: values that contradict each other. The first one found ends it. */ -}}
{{- define "parley.checks" -}}
{{- $v := .Values -}}
{{- if and $v.redis.url $v.redis.existingSecret.name -}}
{{- fail "redis.url and redis.existingSecret.name are both set: give the address in one of them." -}}
{{- end -}}
{{- if and (hasPrefix "redis" $v.redis.url) (contains "-cluster://" $v.redis.url) (gt (int (default 0 $v.config.PARLEY_REDIS_REPLICAS)) 0) -}}
{{- fail "config.PARLEY_REDIS_REPLICAS is not for a Redis Cluster: remove it, or use Sentinel (docs/redis.md)." -}}
{{- end -}}
{{- if eq (int $v.ports.http) (int $v.ports.operator) -}}
{{- fail (printf "ports.http and ports.operator are both %d: the operator's port must be one that clients cannot reach." (int $v.ports.http)) -}}
{{- end -}}
{{- range $role := list "server" "worker" -}}
{{- $values := index $v $role -}}
{{- $context := dict "root" $ "role" $role -}}
{{- $switch := ternary "server.autoscaling.enabled is true" (printf "worker.autoscaling.type is %s" $v.worker.autoscaling.type) (eq $role "server") -}}
{{- if include "parley.scaled" $context -}}
{{- if not (kindIs "invalid" $values.replicas) -}}
{{- fail (printf "%s.replicas is %d and %s: a fixed number and an autoscaler fight each other. Remove one." $role (int $values.replicas) $switch) -}}
{{- end -}}
{{- if gt (int $values.autoscaling.min) (int $values.autoscaling.max) -}}
{{- fail (printf "%s.autoscaling.min (%d) is more than %s.autoscaling.max (%d)." $role (int $values.autoscaling.min) $role (int $values.autoscaling.max)) -}}
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
{{- fail (printf "%s.podLabels has app.kubernetes.io/%s, by which the chart selects its pods: use a label of your own." $role $label) -}}
{{- end -}}
{{- end -}}
{{- $names := list "REDIS_URL" "PARLEY_PORT" "PARLEY_METRICS_PORT" "PARLEY_SECRET" -}}
{{- range concat $v.extraEnv $values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "extraEnv or %s.extraEnv sets %s, which is set already (REDIS_URL is at redis, PARLEY_SECRET at seal, ports at ports)." $role .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $drain := int (include "parley.drainSeconds" $context) -}}
{{- with $values.terminationGracePeriodSeconds -}}
{{- if lt (int .) (add $drain 10 | int) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d and draining takes up to %d s: Kubernetes would kill what is about to end. Give at least %d, or null." $role (int .) $drain (add $drain 10)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.server.autoscaling.enabled (not (dig "requests" "cpu" "" $v.server.resources)) -}}
{{- fail "server.autoscaling counts in percent of server.resources.requests.cpu, which is not set." -}}
{{- end -}}
{{- if ne $v.worker.autoscaling.type "none" -}}
{{- $concurrency := int (default 50 $v.config.PARLEY_CONCURRENCY) -}}
{{- if gt (int $v.worker.autoscaling.runsPerWorker) $concurrency -}}
{{- fail (printf "worker.autoscaling.runsPerWorker is %d and a worker takes %d runs at once (PARLEY_CONCURRENCY): workers would be full before another is started." (int $v.worker.autoscaling.runsPerWorker) $concurrency) -}}
{{- end -}}
{{- end -}}
{{- if $v.httpRoute.enabled -}}
{{- if not $v.httpRoute.parentRefs -}}{{- fail "httpRoute.parentRefs is empty: name the Gateway that takes the route." -}}{{- end -}}
{{- if not $v.httpRoute.hostnames -}}{{- fail "httpRoute.hostnames is empty: name the hosts that clients call, which Parley then serves." -}}{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: name the hosts that clients call, which Parley then serves." -}}
{{- end -}}
{{- include "parley.secretsExist" . -}}
{{- end -}}

{{- /* Secrets of yours, if a cluster can be asked (an install, not `helm template`): pods would wait for one that is missing, saying little. */ -}}
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
