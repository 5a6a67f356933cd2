# Voir en.ftl : le client, `.agent` pour le programme qui lui parle, `.operator` pour le personnel.

recorded = Votre demande est enregistrée. Elle n'a pas encore été envoyée.
    .agent = Enregistrée, pas encore envoyée. Rien ne s'est produit chez le destinataire jusqu'ici. Ne la soumettez pas une seconde fois.
    .operator = Enregistrée ; rien n'a été envoyé.
being-sent = Votre demande est en cours d'envoi.
    .agent = En cours d'envoi ; le résultat n'est pas encore connu. Ne la soumettez pas une seconde fois et ne dites pas que c'est fait.
    .operator = Une requête est en route ; le résultat n'est pas encore connu.
accepted-by-them = Votre demande a été acceptée. Elle n'est pas encore terminée.
    .agent = Acceptée par le destinataire, pas encore terminée. Ne la soumettez pas une seconde fois et ne dites pas que c'est fait.
    .operator = Acceptée par le destinataire ; la suite est surveillée.
accepted-checked-by-person = Votre demande a été acceptée. Un membre de notre équipe vérifie si elle est terminée.
    .agent = Acceptée par le destinataire ; une personne vérifie si elle est terminée. Ne la soumettez pas une seconde fois et ne dites pas que c'est fait.
    .operator = Acceptée par le destinataire ; impossible de savoir si elle est terminée, une personne tranche.
done = C'est fait.
    .agent = C'est fait.
    .operator = L'effet existe chez le destinataire.
done-reference = C'est fait. La référence est { $reference }.
    .agent = C'est fait, référence { $reference }.
    .operator = L'effet existe chez le destinataire, référence { $reference }.
done-after-all = Rectification : votre demande a bien été exécutée.
    .agent = Rectification de ce qui a été dit : la demande a bien été exécutée.
    .operator = Close autrement auparavant ; l'effet existe.
done-after-all-reference = Rectification : votre demande a bien été exécutée. La référence est { $reference }.
    .agent = Rectification de ce qui a été dit : la demande a bien été exécutée, référence { $reference }.
    .operator = Close autrement auparavant ; l'effet existe, référence { $reference }.
done-perhaps-twice = Votre demande a été exécutée, peut-être plusieurs fois : { $count ->
        [one] un résultat a été trouvé
       *[other] { $count } résultats ont été trouvés
    }. Un membre de notre équipe s'en occupe.
    .agent = Exécutée, peut-être plusieurs fois : { $count ->
        [one] un effet a été constaté
       *[other] { $count } effets ont été constatés
    }. Une personne s'en occupe. Ne la soumettez pas une seconde fois.
    .operator = { $count ->
        [one] Un effet a été constaté
       *[other] { $count } effets ont été constatés
    } chez le destinataire, là où un seul était voulu.
done-and-reversed = Votre demande a été exécutée, puis annulée.
    .agent = La demande a été exécutée, puis annulée. Ne la soumettez de nouveau que si on vous le demande.
    .operator = L'effet a existé, puis a été annulé.
will-be-tried-again = Votre demande n'a pas encore été exécutée. Un nouvel essai aura lieu.
    .agent = Pas encore exécutée ; un nouvel essai aura lieu tout seul. Ne la soumettez pas une seconde fois.
    .operator = Il est prouvé que rien ne s'est produit jusqu'ici ; un nouvel essai est prévu.
held = Votre demande n'a pas encore été exécutée. Un membre de notre équipe décide si elle est envoyée.
    .agent = Pas encore exécutée ; une personne décide si elle est envoyée. Ne la soumettez pas une seconde fois.
    .operator = Rien ne s'est produit jusqu'ici ; une personne décide si l'envoi a lieu.
not-done = Votre demande n'a pas été exécutée.
    .agent = Pas exécutée.
    .operator = Pas exécutée ; d'après les preuves ou la parole d'une personne, rien ne s'est produit.
not-done-because = Votre demande n'a pas été exécutée. La raison : { $because }.
    .agent = Pas exécutée. La raison : { $because }.
    .operator = Pas exécutée ; d'après les preuves ou la parole d'une personne, rien ne s'est produit : { $because }.
unknown-being-checked = On ne sait pas encore si votre demande a été exécutée. La vérification est en cours.
    .agent = On ne sait pas encore si elle a été exécutée : elle a été envoyée et la réponse s'est perdue. Le système vérifie. Ne la soumettez pas une seconde fois. Dites que la vérification est en cours.
    .operator = Une requête a peut-être eu un effet ; le système cherche à le savoir.
unknown-checked-by-person = On ne sait pas encore si votre demande a été exécutée. Un membre de notre équipe vérifie.
    .agent = On ne sait pas encore si elle a été exécutée, et le système ne peut pas le savoir ; une personne vérifie. Ne la soumettez pas une seconde fois. Dites que la vérification est en cours.
    .operator = Une requête a peut-être eu un effet ; une personne doit le savoir.
unknown-for-good = Il n'est plus possible de savoir si votre demande a été exécutée.
    .agent = Il n'est plus possible de savoir si elle a été exécutée. Ne la soumettez pas une seconde fois et n'affirmez ni l'un ni l'autre.
    .operator = La recherche a pris fin sans réponse.
withdrawn = Votre demande a été retirée. Rien n'a été fait.
    .agent = Retirée ; rien n'a été fait.
    .operator = Retirée, avec la preuve que rien ne s'est produit.
not-in-time = Votre demande n'a pas été exécutée à temps. Rien n'a été fait.
    .agent = Pas exécutée à temps ; rien n'a été fait.
    .operator = Le délai est passé, avec la preuve que rien ne s'est produit.

# Une proposition : un contenu sur lequel des personnes décident avant tout envoi. Une fois approuvée, la phrase de son action dit où elle en est.

proposal-pending = Votre demande attend une approbation. Elle n'a pas encore été envoyée.
    .agent = En attente d'approbation ; rien n'a encore été envoyé. Ne la soumettez pas une seconde fois et ne dites pas que c'est fait.
    .operator = En attente d'une décision ; rien n'a été envoyé.
proposal-approved = Votre demande a été approuvée.
    .agent = Approuvée. La phrase de son action dit où elle en est.
    .operator = Approuvée ; voir son action.
proposal-declined = Votre demande n'a pas été approuvée. Elle n'a pas été envoyée.
    .agent = Pas approuvée ; rien n'a été envoyé.
    .operator = Rejetée, ou retirée par la personne qui l'a demandée ; rien n'a été envoyé.
proposal-superseded = Votre demande a été modifiée. La version précédente n'a pas été envoyée.
    .agent = Un autre contenu la remplace ; rien de celle-ci n'a été envoyé. Parlez de la nouvelle version.
    .operator = Remplacée ; rien de celle-ci n'a été envoyé.
proposal-expired = Votre demande n'a pas été approuvée à temps. Elle n'a pas été envoyée.
    .agent = Personne n'a décidé à temps ; rien n'a été envoyé.
    .operator = Personne n'a décidé à temps ; rien n'a été envoyé.

never-done = C'est fait.
never-done-too = Votre demande a été exécutée.
never-failed = Cela a échoué.
never-failed-too = Rien n'a été fait.
never-again = Veuillez réessayer.

correction = Rectification. Il vous a été dit : « { $told } » Cela n'est plus valable. { $now }
    .agent = À transmettre comme rectification. Il a été dit au client : « { $told } » Cela n'est plus valable. Désormais : { $now }
    .operator = Il a été dit dans la conversation : « { $told } » Les preuves soutiennent désormais : { $now }
correction-about = Rectification au sujet de « { $summary } ». Il vous a été dit : « { $told } » Cela n'est plus valable. { $now }
    .agent = À transmettre comme rectification au sujet de « { $summary } ». Il a été dit au client : « { $told } » Cela n'est plus valable. Désormais : { $now }
    .operator = « { $summary } » : il a été dit dans la conversation : « { $told } » Les preuves soutiennent désormais : { $now }
news = Il y a du nouveau au sujet de votre demande. { $now }
    .agent = À transmettre : { $now }
    .operator = Pas encore dit dans la conversation : { $now }
news-about = Il y a du nouveau au sujet de « { $summary } ». { $now }
    .agent = À transmettre au sujet de « { $summary } » : { $now }
    .operator = « { $summary } » : pas encore dit dans la conversation : { $now }

contact-by = { $route } Vous aurez une réponse au plus tard le { $when }.
contact-late = { $route } Une réponse vous était promise au plus tard le { $when }. Elle est en retard ; un rappel nous a été adressé.

date-time = { $day ->
        [1] 1er
       *[other] { $day }
    } { $month ->
        [1] janvier
        [2] février
        [3] mars
        [4] avril
        [5] mai
        [6] juin
        [7] juillet
        [8] août
        [9] septembre
        [10] octobre
        [11] novembre
       *[12] décembre
    } { $year } à { $hour }:{ $minute } ({ $zone })
