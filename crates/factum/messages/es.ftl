# Véase en.ftl: el cliente, `.agent` para el programa que habla con él, `.operator` para el personal.

recorded = Su solicitud está registrada. Todavía no se ha enviado.
    .agent = Registrada, todavía no enviada. En el destino no ha ocurrido nada hasta ahora. No la envíe otra vez.
    .operator = Registrada; no se ha enviado nada.
being-sent = Su solicitud se está enviando ahora.
    .agent = Se está enviando ahora; el resultado no se conoce todavía. No la envíe otra vez ni diga que está hecha.
    .operator = Hay una petición en curso; el resultado no se conoce todavía.
accepted-by-them = Su solicitud ha sido aceptada. Todavía no se ha completado.
    .agent = Aceptada por el destino, todavía no completada. No la envíe otra vez ni diga que está hecha.
    .operator = Aceptada por el destino; se sigue hasta el final.
accepted-checked-by-person = Su solicitud ha sido aceptada. Una persona de nuestro equipo comprueba si se ha completado.
    .agent = Aceptada por el destino; una persona comprueba si se ha completado. No la envíe otra vez ni diga que está hecha.
    .operator = Aceptada por el destino; no se puede saber si se ha completado, y decide una persona.
done = Hecho.
    .agent = Hecho.
    .operator = El efecto existe en el destino.
done-reference = Hecho. La referencia es { $reference }.
    .agent = Hecho, referencia { $reference }.
    .operator = El efecto existe en el destino, referencia { $reference }.
done-after-all = Corrección: su solicitud sí se ha realizado.
    .agent = Corrección de lo dicho antes: sí se ha realizado.
    .operator = Antes se cerró de otro modo; el efecto existe.
done-after-all-reference = Corrección: su solicitud sí se ha realizado. La referencia es { $reference }.
    .agent = Corrección de lo dicho antes: sí se ha realizado, referencia { $reference }.
    .operator = Antes se cerró de otro modo; el efecto existe, referencia { $reference }.
done-perhaps-twice = Su solicitud se ha realizado, quizá más de una vez: { $count ->
        [one] se encontró un resultado
       *[other] se encontraron { $count } resultados
    }. Una persona de nuestro equipo lo está aclarando.
    .agent = Se ha realizado, quizá más de una vez: { $count ->
        [one] se vio un efecto
       *[other] se vieron { $count } efectos
    }. Lo aclara una persona. No la envíe otra vez.
    .operator = { $count ->
        [one] Se vio un efecto
       *[other] Se vieron { $count } efectos
    } en el destino donde se quería uno.
done-and-reversed = Su solicitud se realizó y después se deshizo.
    .agent = Se realizó y después se deshizo. Envíela otra vez solo si se lo piden.
    .operator = El efecto existió y se deshizo más tarde.
will-be-tried-again = Su solicitud todavía no se ha realizado. Se volverá a intentar.
    .agent = Todavía no se ha realizado; el sistema lo volverá a intentar. No la envíe otra vez.
    .operator = Está probado que hasta ahora no ha ocurrido nada; toca otro intento.
held = Su solicitud todavía no se ha realizado. Una persona de nuestro equipo decide si se envía.
    .agent = Todavía no se ha realizado; una persona decide si se envía. No la envíe otra vez.
    .operator = Hasta ahora no ha ocurrido nada; una persona decide si se envía.
not-done = Su solicitud no se ha realizado.
    .agent = No se ha realizado.
    .operator = No se ha realizado; según las pruebas o la palabra de una persona, no ocurrió nada.
not-done-because = Su solicitud no se ha realizado. El motivo: { $because }.
    .agent = No se ha realizado. El motivo: { $because }.
    .operator = No se ha realizado; según las pruebas o la palabra de una persona, no ocurrió nada: { $because }.
unknown-being-checked = Todavía no se sabe si su solicitud se ha realizado. Se está comprobando.
    .agent = Todavía no se sabe si se ha realizado: se envió y la respuesta se perdió. El sistema lo está comprobando. No la envíe otra vez. Diga que se está comprobando.
    .operator = Puede que una petición haya tenido efecto; el sistema lo está averiguando.
unknown-checked-by-person = Todavía no se sabe si su solicitud se ha realizado. Una persona de nuestro equipo lo está comprobando.
    .agent = Todavía no se sabe si se ha realizado, y el sistema no puede averiguarlo; lo comprueba una persona. No la envíe otra vez. Diga que se está comprobando.
    .operator = Puede que una petición haya tenido efecto; tiene que averiguarlo una persona.
unknown-for-good = Ya no se puede averiguar si su solicitud se ha realizado.
    .agent = Ya no se puede averiguar si se ha realizado. No la envíe otra vez ni afirme una cosa u otra.
    .operator = La búsqueda terminó sin respuesta.
withdrawn = Su solicitud se ha retirado. No se ha realizado nada.
    .agent = Retirada; no se ha realizado nada.
    .operator = Retirada, con prueba de que no ocurrió nada.
not-in-time = Su solicitud no se ha realizado a tiempo. No se ha realizado nada.
    .agent = No se ha realizado a tiempo; no se ha realizado nada.
    .operator = El plazo venció, con prueba de que no ocurrió nada.

# Una propuesta: contenido sobre el que deciden personas antes de que se envíe nada. Una vez aprobada, la frase de su acción dice cómo está.

proposal-pending = Su solicitud está pendiente de aprobación. Todavía no se ha enviado.
    .agent = Pendiente de aprobación; todavía no se ha enviado nada. No la envíe otra vez ni diga que está hecha.
    .operator = Pendiente de una decisión; no se ha enviado nada.
proposal-approved = Su solicitud ha sido aprobada.
    .agent = Aprobada. Cómo está lo dice la frase de su acción.
    .operator = Aprobada; véase su acción.
proposal-declined = Su solicitud no ha sido aprobada. No se ha enviado.
    .agent = No aprobada; no se ha enviado nada.
    .operator = Denegada, o retirada por quien la pidió; no se ha enviado nada.
proposal-superseded = Su solicitud se ha modificado. La versión anterior no se ha enviado.
    .agent = Otro contenido ocupa su lugar; de este no se ha enviado nada. Hable de la versión nueva.
    .operator = Sustituida; de esta no se ha enviado nada.
proposal-expired = Su solicitud no fue aprobada a tiempo. No se ha enviado.
    .agent = Nadie decidió a tiempo; no se ha enviado nada.
    .operator = Nadie decidió a tiempo; no se ha enviado nada.

never-done = Está hecho.
never-done-too = Su solicitud se ha realizado.
never-failed = Ha fallado.
never-failed-too = No se ha realizado nada.
never-again = Inténtelo otra vez, por favor.

correction = Corrección. Se le dijo: «{ $told }» Eso ya no es válido. { $now }
    .agent = Comuníquelo como corrección. Al cliente se le dijo: «{ $told }» Eso ya no es válido. Ahora: { $now }
    .operator = En la conversación se dijo: «{ $told }» Las pruebas respaldan ahora: { $now }
correction-about = Corrección sobre «{ $summary }». Se le dijo: «{ $told }» Eso ya no es válido. { $now }
    .agent = Comuníquelo como corrección sobre «{ $summary }». Al cliente se le dijo: «{ $told }» Eso ya no es válido. Ahora: { $now }
    .operator = «{ $summary }»: en la conversación se dijo: «{ $told }» Las pruebas respaldan ahora: { $now }
news = Hay novedades sobre su solicitud. { $now }
    .agent = Comunique esto: { $now }
    .operator = En la conversación todavía no se ha dicho: { $now }
news-about = Hay novedades sobre «{ $summary }». { $now }
    .agent = Comunique esto sobre «{ $summary }»: { $now }
    .operator = «{ $summary }»: en la conversación todavía no se ha dicho: { $now }

contact-by = { $route } Recibirá una respuesta antes de esta hora: { $when }.
contact-late = { $route } Se le prometió una respuesta antes de esta hora: { $when }. Va con retraso y ya hemos recibido un aviso.

date-time = { $day } de { $month ->
        [1] enero
        [2] febrero
        [3] marzo
        [4] abril
        [5] mayo
        [6] junio
        [7] julio
        [8] agosto
        [9] septiembre
        [10] octubre
        [11] noviembre
       *[12] diciembre
    } de { $year }, { $hour }:{ $minute } ({ $zone })
