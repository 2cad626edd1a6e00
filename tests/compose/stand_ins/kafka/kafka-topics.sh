#!/bin/bash
exec java -Xmx256m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' org.apache.kafka.tools.TopicCommand "$@"
