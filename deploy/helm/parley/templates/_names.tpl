{{- define "parley.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* The prefix of every object's name. Short enough to append `-operator`. */ -}}
{{- define "parley.fullname" -}}
{{- $name := include "parley.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "parley.selector" -}}
app.kubernetes.io/name: {{ include "parley.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "parley.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "parley.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "parley.image" -}}
{{- with .Values.image -}}
{{- $tag := .tag -}}
{{- if not .digest -}}{{- $tag = default $.Chart.AppVersion .tag -}}{{- end -}}
{{- .repository -}}{{- with $tag -}}:{{- . -}}{{- end -}}{{- with .digest -}}@{{- . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "parley.redisSecret" -}}
{{- default (printf "%s-redis" (include "parley.fullname" .)) .Values.redis.existingSecret.name -}}
{{- end -}}

{{- /* The hosts that clients, KEDA and `kubectl port-forward` use, and those in PARLEY_ALLOWED_HOSTS. */ -}}
{{- define "parley.allowedHosts" -}}
{{- $service := include "parley.fullname" . -}}
{{- $hosts := list "localhost" "127.0.0.1" "[::1]" $service -}}
{{- range list "" ".svc" ".svc.cluster.local" -}}
{{- $hosts = append $hosts (printf "%s.%s%s" $service $.Release.Namespace .) -}}
{{- end -}}
{{- $hosts = append $hosts (printf "%s-operator.%s.svc" $service .Release.Namespace) -}}
{{- if .Values.httpRoute.enabled -}}{{- $hosts = concat $hosts .Values.httpRoute.hostnames -}}{{- end -}}
{{- if .Values.ingress.enabled -}}{{- $hosts = concat $hosts .Values.ingress.hosts -}}{{- end -}}
{{- with .Values.config.PARLEY_ALLOWED_HOSTS -}}{{- $hosts = concat $hosts (splitList "," (nospace .)) -}}{{- end -}}
{{- $hosts | uniq | join "," -}}
{{- end -}}

{{- /* A value of `config` as a string. Helm reads integers as floats, and would write large ones as 1.048576e+06. */ -}}
{{- define "parley.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}{{- int64 . -}}{{- else -}}{{- . -}}{{- end -}}
{{- end -}}

{{- /* The settings by name, as YAML. */ -}}
{{- define "parley.settings" -}}
{{- range $name, $value := .Values.config -}}
{{- if ne $name "PARLEY_ALLOWED_HOSTS" }}
{{ $name }}: {{ include "parley.text" $value | quote }}
{{- end -}}
{{- end }}
PARLEY_ALLOWED_HOSTS: {{ include "parley.allowedHosts" . | quote }}
{{- if not (hasKey .Values.config "PARLEY_SHUTDOWN_DELAY") }}
PARLEY_SHUTDOWN_DELAY: 3s
{{- end -}}
{{- if not (or (hasKey .Values.config "PARLEY_AUTH_NONE_ANYWHERE") (eq (default "none" .Values.config.PARLEY_AUTH) "required")) }}
PARLEY_AUTH_NONE_ANYWHERE: "true"
{{- end -}}
{{- end -}}

{{- /* A duration such as 250ms, 30s, 1.5h or 2 days, in seconds, rounded up. */ -}}
{{- define "parley.seconds" -}}
{{- $text := include "parley.text" . -}}
{{- $amount := regexFind "^[0-9.]+" $text | float64 -}}
{{- $unit := regexFind "[a-z]+" $text -}}
{{- $ms := 1.0 -}}
{{- if hasPrefix "d" $unit -}}{{- $ms = 86400000.0 -}}
{{- else if hasPrefix "h" $unit -}}{{- $ms = 3600000.0 -}}
{{- else if hasPrefix "s" $unit -}}{{- $ms = 1000.0 -}}
{{- else if has $unit (list "m" "minute" "minutes") -}}{{- $ms = 60000.0 -}}
{{- end -}}
{{- divf (mulf $amount $ms) 1000.0 | ceil | int64 -}}
{{- end -}}

{{- /* The longest time that shutting down a process may take, in seconds. */ -}}
{{- define "parley.drainSeconds" -}}
{{- $config := .root.Values.config -}}
{{- if eq .role "server" -}}
{{- $delay := include "parley.seconds" (default "3s" $config.PARLEY_SHUTDOWN_DELAY) -}}
{{- $timeout := include "parley.seconds" (default "10s" $config.PARLEY_SHUTDOWN_TIMEOUT) -}}
{{- add .root.Values.server.preStopSeconds $delay $timeout -}}
{{- else -}}
{{- include "parley.seconds" (default "20s" $config.PARLEY_DRAIN_TIMEOUT) -}}
{{- end -}}
{{- end -}}

{{- /* How long a process may take to start: it waits for Redis, then a worker starts the modules that its tools share. */ -}}
{{- define "parley.startupSeconds" -}}
{{- $config := .root.Values.config -}}
{{- $redis := include "parley.seconds" (default "30s" $config.PARLEY_REDIS_START_TIMEOUT) -}}
{{- $modules := ternary "30" (include "parley.seconds" (default "30s" $config.PARLEY_MODULE_TIMEOUT)) (eq .role "server") -}}
{{- max 60 (add $redis $modules) -}}
{{- end -}}

{{- /* Of probes every 10 s: later than a worker that a tool blocks kills itself. */ -}}
{{- define "parley.livenessFailures" -}}
{{- $kill := include "parley.seconds" (default "30s" .root.Values.config.PARLEY_BLOCKED_KILL) -}}
{{- max 6 (add (div $kill 10) 3) -}}
{{- end -}}

{{- /* Whether an autoscaler sets the number of pods. */ -}}
{{- define "parley.scaled" -}}
{{- if eq .role "server" -}}
{{- if .root.Values.server.autoscaling.enabled -}}true{{- end -}}
{{- else if ne .root.Values.worker.autoscaling.type "none" -}}true{{- end -}}
{{- end -}}

{{- /* The minimum number of pods. */ -}}
{{- define "parley.fewest" -}}
{{- $values := index .root.Values .role -}}
{{- if include "parley.scaled" . -}}{{- $values.autoscaling.min | int -}}{{- else -}}{{- include "parley.replicas" . -}}{{- end -}}
{{- end -}}

{{- define "parley.replicas" -}}
{{- $replicas := (index .root.Values .role).replicas -}}
{{- kindIs "invalid" $replicas | ternary 2 $replicas | int -}}
{{- end -}}
