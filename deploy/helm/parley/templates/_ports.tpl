{{- /* The ports that front ends connect to, as a YAML list: those of Redis, and of every service that the settings name. */ -}}
{{- define "parley.frontEndPorts" -}}
{{- $config := .Values.config -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.redisPorts -}}{{- $ports = append $ports (int .) -}}{{- end -}}
{{- $addresses := list (default $config.OTEL_EXPORTER_OTLP_ENDPOINT $config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) -}}
{{- if eq (default "none" $config.PARLEY_AUTH) "required" -}}
{{- /* The keys of a provider may be elsewhere than its metadata. */ -}}
{{- $addresses = append $addresses "https://keys" -}}
{{- $addresses = concat $addresses (list $config.PARLEY_AUTH_ISSUERS $config.PARLEY_AUTH_INTROSPECTION_URL $config.PARLEY_LOGIN_ENDPOINTS) -}}
{{- end -}}
{{- if hasPrefix "s3:" (default "" $config.PARLEY_FILES) -}}
{{- $addresses = append $addresses (default "https://s3" $config.PARLEY_FILES_ENDPOINT) -}}
{{- end -}}
{{- if $config.PARLEY_CONTENT_KMS -}}
{{- $addresses = append $addresses (default "https://kms" $config.PARLEY_CONTENT_KMS_ENDPOINT) -}}
{{- end -}}
{{- if $config.PARLEY_OAUTH -}}
{{- $addresses = append $addresses "https://providers" -}}
{{- end -}}
{{- $ports = concat $ports (include "parley.redisPorts" .Values.redis.url | fromYamlArray) -}}
{{- range $address := compact $addresses -}}
{{- range regexFindAll "https?://[^/,\\s]+" $address -1 -}}
{{- $port := regexFind ":[0-9]+$" . | trimPrefix ":" -}}
{{- $ports = append $ports (default (ternary "443" "80" (hasPrefix "https:" .)) $port | int) -}}
{{- end -}}
{{- end -}}
{{- range $ports | uniq }}
- {{ int . }}
{{- end -}}
{{- end -}}

{{- /* The ports in an address of Redis, as a YAML list. Those of other nodes, and of the master that sentinels name, are not in it. */ -}}
{{- define "parley.redisPorts" -}}
{{- if regexMatch "^rediss?(-sentinel|-cluster)?://" . -}}
{{- $default := ternary "26379" "6379" (contains "-sentinel://" .) -}}
{{- $hosts := regexReplaceAll "^[a-z-]+://(.*@)?" . "" -}}
{{- range splitList "," (regexReplaceAll "[/?].*$" $hosts "") }}
- {{ default $default (regexFind ":[0-9]+$" . | trimPrefix ":") }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What the pods of a role may reach, and the job that has its settings. Takes root, role. */ -}}
{{- define "parley.egress" -}}
{{- $values := .root.Values -}}
{{- if eq .role "server" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
# Redis, and the services that the settings name.
- ports:
    {{- range include "parley.frontEndPorts" .root | fromYamlArray }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
{{- with $values.server.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- else if kindIs "slice" $values.worker.networkPolicy.egress -}}
{{- toYaml $values.worker.networkPolicy.egress -}}
{{- else -}}
# Tools may call any service except the cloud's metadata service, which gives the machine's credentials to any process that asks.
- to:
    - namespaceSelector: {}
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [169.254.169.254/32]
    - ipBlock:
        cidr: "::/0"
        except: ["fd00:ec2::254/128"]
{{- end -}}
{{- end -}}
